package site

import (
	"fmt"
	"html/template"
	"slices"

	"genreport/cmd/genreport/internal/article"
)

// blockText is the strings of these blocks that aren't the article's own.
type blockText struct {
	Table                     string // takes a number
	Parameter, Value, Meaning string
	Configuration, Commands   string
	Note, Warning             string
	Demo, Previous, Next      string
	Recorded                  string // before what it is that was
	Step, StepOf              string // templates of the script: %d is a step, and how many there are; %s is its title
}

func blockUI(lang string) blockText {
	if lang == "zh" {
		return blockText{Table: "表 %d", Parameter: "参数", Value: "取值", Meaning: "含义", Configuration: "配置", Commands: "命令",
			Note: "说明", Warning: "注意", Demo: "分步演示", Recorded: "第一轮的记录：", Previous: "上一步", Next: "下一步", Step: "第 %d 步", StepOf: "第 %d 步，共 %d 步：%s。"}
	}
	return blockText{Table: "Table %d", Parameter: "Parameter", Value: "Value", Meaning: "Meaning", Configuration: "Configuration", Commands: "Commands",
		Note: "Note", Warning: "Warning", Demo: "Step by step", Recorded: "Recorded in the first repeat: ", Previous: "Previous", Next: "Next", Step: "Step %d", StepOf: "Step %d of %d: %s."}
}

// ownBlock is what blocks.html shows; at most one of them is there.
type ownBlock struct {
	Grid    *gridView
	Given   *givenView
	Setup   *setupView
	Callout *calloutView
	Demo    *demoView
}

type gridView struct {
	article.Grid
	Label string
}

type givenView struct {
	article.Given
	UI blockText
}

type setupView struct {
	article.Setup
	UI blockText
}

type calloutView struct {
	article.Callout
	Name string // of its kind
}

type demoView struct {
	article.Demo
	UI    blockText
	Steps []stepView
}

type stepView struct {
	article.DemoStep
	Number       int
	Wide, Narrow template.HTML // SVG
	Chart        template.HTML // SVG of what was recorded; ""
}

// own makes the views of a page's blocks, and counts its tables.
type own struct {
	ui     blockText
	tables int
}

func newOwn(lang string) *own { return &own{ui: blockUI(lang)} }

func (o *own) block(in article.Block, links *linker) (out ownBlock) {
	switch {
	case in.Grid != nil:
		o.tables++
		out.Grid = &gridView{*in.Grid, fmt.Sprintf(o.ui.Table, o.tables)}
	case in.Given != nil:
		out.Given = &givenView{*in.Given, o.ui}
		out.Given.Data = links.to(in.Given.Data)
	case in.Setup != nil:
		out.Setup = &setupView{*in.Setup, o.ui}
	case in.Callout != nil:
		out.Callout = &calloutView{*in.Callout, map[string]string{"note": o.ui.Note, "warning": o.ui.Warning}[in.Callout.Kind]}
	case in.Demo != nil:
		out.Demo = &demoView{Demo: *in.Demo, UI: o.ui}
		for i, s := range in.Demo.Steps {
			v := stepView{DemoStep: s, Number: i + 1, Wide: template.HTML(in.Demo.Diagram.SVG(i, false)), Narrow: template.HTML(in.Demo.Diagram.SVG(i, true))}
			if s.Recorded != nil && len(s.Recorded.Chart.Lines) > 0 {
				v.Chart = template.HTML(s.Recorded.Chart.SVG())
			}
			out.Demo.Steps = append(out.Demo.Steps, v)
		}
	}
	return out
}

func hasDemo(p article.Page) bool {
	return slices.ContainsFunc(p.Blocks, func(b article.Block) bool { return b.Demo != nil })
}
