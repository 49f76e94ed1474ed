package chart

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

func epoch() time.Time { return time.Unix(0, 0).UTC() }

const (
	fontSize      = 13
	labelSize     = 12 // value labels
	lineHeight    = 18
	categoryLine  = 16
	labelDistance = 4
	legendGap     = 14
	legendLine    = 15
	legendIcon    = 5 // between icon and text: ECharts has no setting for it
	edge          = 2 // what antialiasing and a label's last letter may need
	labelMargin   = 8 // between axis and its labels: ECharts' default
)

// The defaults stand out from the page (3:1) and stay apart for colour-blind readers; so do the style sheet's of its other themes.
const (
	colorText  = "var(--chart-text, #24292f)"
	colorMuted = "var(--chart-muted, #59626b)"
	colorAxis  = "var(--chart-axis, #8b949e)"
	colorGrid  = "var(--chart-grid, #e4e7ea)"
	colorBg    = "var(--chart-bg, #ffffff)"
)

// MostSeries are as many as differ in colour, dashes, symbol and pattern.
const MostSeries = 6

func seriesColor(i int) string {
	defaults := [...]string{"#174f7c", "#d2761c", "#147d7b", "#532144", "#4c92db", "#8f8877"}
	i %= len(defaults)
	return fmt.Sprintf("var(--chart-%d, %s)", i+1, defaults[i])
}

// Lines differ in symbol and dashes too, so that colour isn't needed to tell them apart. (ECharts' hollow symbols are filled with a
// white of its own, which no dark page wants.)
func seriesSymbol(i int) string {
	symbols := [...]string{"circle", "rect", "triangle", "diamond", "path://M0 0L10 0L5 9Z", "path://M3 0h4v3h3v4h-3v3h-4v-3h-3v-4h3z"}
	return symbols[i%len(symbols)]
}

// seriesSymbolSize makes the symbols look equally large.
func seriesSymbolSize(i, size int) int {
	larger := [...]int{0, 0, 1, 2, 1, 1}
	if size == 0 {
		return 0
	}
	return size + larger[i%len(larger)]
}

func seriesDash(i int) any {
	dashes := [...]any{"solid", []int{7, 3}, []int{2, 3}, []int{9, 3, 2, 3}, []int{12, 4}, []int{4, 2}}
	return dashes[i%len(dashes)]
}

// seriesHatch is the pattern of a series' bars, for the same reason: the directions of its lines. The first is plain.
func seriesHatch(i int) string {
	hatches := [...]string{"", "/", "-", "\\", "|", "/\\"}
	return hatches[i%len(hatches)]
}

// seriesIcon is such a bar in the legend: a square of 12 with the lines left out.
func seriesIcon(i int) string {
	icons := [...]string{
		"path://M0 0h12v12h-12z",
		"path://M0 0h4l-4 4zM6 0h5l-11 11v-5zM12 1v5l-6 6h-5zM12 8v4h-4z",
		"path://M0 0h12v3.2h-12zM0 4.4h12v3.2h-12zM0 8.8h12v3.2h-12z",
		"path://M12 0h-4l4 4zM6 0h-5l11 11v-5zM0 1v5l6 6h5zM0 8v4h4z",
		"path://M0 0h3.2v12h-3.2zM4.4 0h3.2v12h-3.2zM8.8 0h3.2v12h-3.2z",
		"path://M6 0l2.4 2.4l-2.4 2.4l-2.4 -2.4zM6 7.2l2.4 2.4l-2.4 2.4l-2.4 -2.4zM2.4 3.6l2.4 2.4l-2.4 2.4l-2.4 -2.4zM9.6 3.6l2.4 2.4l-2.4 2.4l-2.4 -2.4zM0 0h2.4l-2.4 2.4zM12 0v2.4l-2.4 -2.4zM0 12v-2.4l2.4 2.4zM12 12h-2.4l2.4 -2.4z",
	}
	return icons[i%len(icons)]
}

// Bars: the share of a category left empty, the space between bars as a share of a bar, the widest bar.
const (
	barCategoryGap = 0.3
	barGap         = 0.08
	barMaxWidth    = 56
)

type object = map[string]any

// option describes a figure to ECharts: what go-echarts can say, with what it can't laid over it.
func (r *Renderer) option(f Figure) ([]byte, error) {
	l, err := r.layout(f)
	if err != nil {
		return nil, err
	}
	chart := describe(f, l)
	chart.Validate()
	// go-echarts encodes to HTML and drops errors, so encode its option here.
	encoded, err := json.Marshal(chart.JSON())
	if err != nil {
		return nil, err
	}
	var option object
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	if err := d.Decode(&option); err != nil {
		return nil, err
	}
	// For the browser only: in a picture there is nothing to point at.
	delete(option, "tooltip")
	delete(option, "toolbox")
	if err := overlay(option, additions(f, l)); err != nil {
		return nil, err
	}
	return json.Marshal(option)
}

type chart interface {
	Validate()
	JSON() map[string]any
}

func describe(f Figure, l layout) chart {
	global := []charts.GlobalOpts{
		charts.WithInitializationOpts(opts.Initialization{ChartID: f.ID}),
		charts.WithAnimation(false),
		charts.WithTitleOpts(opts.Title{
			Title: l.yTitle, Left: "0", Top: strconv.Itoa(l.yTitleTop),
			TitleStyle: &opts.TextStyle{Color: colorMuted, FontSize: fontSize, FontWeight: "normal", LineHeight: lineHeight},
		}),
		charts.WithGridOpts(opts.Grid{Left: "0", Right: strconv.Itoa(edge), Top: strconv.Itoa(l.top), Bottom: strconv.Itoa(edge)}),
		charts.WithXAxisOpts(opts.XAxis{
			Type: "category", Name: l.xTitle, NameLocation: "middle", NameGap: l.xTitleGap,
			AxisLine:  &opts.AxisLine{LineStyle: &opts.LineStyle{Color: colorAxis}},
			AxisTick:  &opts.AxisTick{Show: opts.Bool(false)},
			AxisLabel: &opts.AxisLabel{Color: colorMuted, FontSize: fontSize, Rotate: l.rotateCategories, Margin: labelMargin},
			SplitLine: &opts.SplitLine{Show: opts.Bool(false)},
		}),
		charts.WithYAxisOpts(opts.YAxis{
			Type: l.axis.kind(), Min: l.axis.min, Max: l.axis.max,
			AxisLine:  &opts.AxisLine{Show: opts.Bool(false)},
			AxisLabel: &opts.AxisLabel{Show: opts.Bool(true), Color: colorMuted, FontSize: fontSize, Margin: labelMargin},
			SplitLine: &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: colorGrid}},
		}),
	}
	if l.legend != nil {
		o := opts.Legend{
			Show: opts.Bool(true), Type: "plain", Left: "0", Top: "0", Padding: 0, Data: legendData(f, l),
			ItemWidth: l.iconWidth, ItemHeight: l.iconHeight,
			TextStyle: &opts.TextStyle{Color: colorText, FontSize: fontSize, LineHeight: legendLine},
		}
		global = append(global, charts.WithLegendOpts(o))
	} else {
		global = append(global, charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}))
	}
	marks := charts.NewCustom()
	for i, s := range f.Series {
		marks.AddSeries(seriesKey(i), markData(f, s), func(o *charts.SingleSeries) {
			o.RenderItem = "marks" // the name of a function in the bundle
			o.Encode = &opts.Encode{X: 0, Y: []int{1, 2, 3}}
		})
	}
	if len(f.Phases) > 0 {
		var data []opts.CustomData
		for _, p := range f.Phases {
			from, to := p.From, p.To
			if f.thin != nil {
				from, to = f.thin.column(from), f.thin.column(to)
			}
			data = append(data, opts.CustomData{Name: p.Name, Value: []any{from, to}})
		}
		marks.AddSeries("phases", data, func(o *charts.SingleSeries) {
			o.RenderItem = "phases"
			o.Encode = &opts.Encode{X: 0, Y: []int{}}
		})
	}
	if f.Kind == Bar {
		c := charts.NewBar()
		c.SetGlobalOptions(global...)
		c.SetXAxis(l.categories)
		for i, s := range f.Series {
			data := make([]opts.BarData, len(s.Points))
			for j, p := range s.Points {
				data[j] = opts.BarData{Value: value(p)}
			}
			c.AddSeries(seriesKey(i), data,
				charts.WithBarChartOpts(opts.BarChart{
					BarGap: percent(barGap), BarCategoryGap: percent(barCategoryGap),
				}),
				charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(i)}))
		}
		c.Overlap(marks)
		return c
	}
	c := charts.NewLine()
	c.SetGlobalOptions(global...)
	c.SetXAxis(l.categories)
	for i, s := range f.Series {
		var data []opts.LineData
		if f.thin != nil {
			for _, p := range f.thin.points[i] {
				data = append(data, opts.LineData{Value: []any{p.column, value(Point{Value: p.value})}})
			}
		} else {
			for _, p := range s.Points {
				data = append(data, opts.LineData{Value: value(p)})
			}
		}
		c.AddSeries(seriesKey(i), data,
			charts.WithLineChartOpts(opts.LineChart{
				Symbol: seriesSymbol(i), SymbolSize: seriesSymbolSize(i, l.symbolSize), ShowSymbol: opts.Bool(l.symbolSize > 0), ConnectNulls: opts.Bool(false),
			}),
			charts.WithLineStyleOpts(opts.LineStyle{Color: seriesColor(i), Width: 2}),
			// The rim in the page's colour keeps a symbol apart from the lines that cross it.
			charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(i), BorderColor: colorBg, BorderWidth: 1.5}))
	}
	c.Overlap(marks)
	return c
}

// seriesKey is a series' name to ECharts; the bundle says why it isn't the true one.
func seriesKey(i int) string { return strconv.Itoa(i) }

// value is what ECharts takes for a point: "-" is a gap to it.
func value(p Point) any {
	if p.Value == nil {
		return "-"
	}
	return *p.Value
}

func markData(f Figure, s Series) []opts.CustomData {
	var data []opts.CustomData
	for i, p := range s.Points {
		label := pointLabel(f, p)
		if p.Low == nil && label == "" && (f.Kind != Bar || p.Value == nil) { // bars have a pattern too
			continue
		}
		if f.thin != nil {
			i = f.thin.column(i)
		}
		data = append(data, opts.CustomData{Name: label, Value: []any{i, p.Low, p.High, p.Value}})
	}
	return data
}

func pointLabel(f Figure, p Point) string {
	switch {
	case p.Value == nil:
		return p.Label
	case !f.ValueLabels:
		return p.Mark
	case p.Label != "":
		return p.Label
	}
	return plainNumber(*p.Value)
}

func plainNumber(v float64) string { return thousands(strconv.FormatFloat(v, 'f', -1, 64)) }

// tip is what a reader is told who points at a point.
func tip(p Point) string {
	switch {
	case p.Tip != "":
		return p.Tip
	case p.Value == nil:
		return cmp.Or(p.Label, "–")
	}
	text := cmp.Or(p.Label, plainNumber(*p.Value)+p.Mark)
	if p.Low != nil {
		text += " (" + plainNumber(*p.Low) + "–" + plainNumber(*p.High) + ")"
	}
	return text
}

// legendData are the entries of the legend, each with its icon where that isn't the series' own.
func legendData(f Figure, l layout) any {
	if f.Kind != Bar {
		return l.legend
	}
	var all []object
	for i, key := range l.legend {
		all = append(all, object{"name": key, "icon": seriesIcon(i)})
	}
	return all
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', -1, 64) + "%" }

// thousands puts commas into a decimal number, and a minus sign before it.
func thousands(number string) string {
	whole, fraction, _ := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}

// additions are the settings for which go-echarts has no field.
func additions(f Figure, l layout) object {
	plain := object{"textBorderWidth": 0}
	x := object{
		"nameTextStyle": object{"color": colorMuted, "fontSize": fontSize, "lineHeight": lineHeight},
		// The layout has seen to it, by the same measure.
		"nameMoveOverlap": false,
		"axisLabel":       object{"lineHeight": categoryLine, "interval": l.categoryStep - 1},
	}
	if l.categoryWidth > 0 {
		x["axisLabel"] = object{"lineHeight": categoryLine, "interval": l.categoryStep - 1, "width": l.categoryWidth, "overflow": "truncate"}
	}
	all := object{
		"textStyle": plain,
		"title":     object{"padding": 0},
		"legend":    object{"itemGap": legendGap},
		"grid":      []any{object{"outerBoundsMode": "same", "outerBoundsContain": "all", "outerBoundsClampWidth": "40%", "outerBoundsClampHeight": "15%"}},
		"xAxis":     []any{x},
	}
	if l.axis.log {
		all["yAxis"] = []any{object{"logBase": 10}}
	} else {
		all["yAxis"] = []any{object{"interval": l.axis.step}}
	}
	if l.legendTextWidth > 0 {
		all["legend"] = object{"itemGap": legendGap, "textStyle": object{"width": l.legendTextWidth, "overflow": "break"}}
	}
	if f.Kind == Line && l.symbolSize == 0 {
		// The legend shows what the plot shows.
		all["legend"].(object)["itemStyle"] = object{"opacity": 0}
	}
	var series []any
	for i := range f.Series {
		s := object{"clip": false, "silent": true, "cursor": "default"}
		if f.Kind == Bar {
			s["barMaxWidth"] = barMaxWidth
		} else {
			s["lineStyle"] = object{"type": seriesDash(i), "cap": "butt", "join": "round"}
		}
		series = append(series, s)
	}
	for i := range f.Series {
		m := object{
			"slot": i, "rotate": l.rotateValues, "cap": 3, "color": seriesColor(i), "textColor": colorText, "mutedColor": colorMuted,
			"background": colorBg, "fontSize": labelSize, "distance": labelDistance,
		}
		if f.Kind == Bar {
			m["bars"], m["gap"], m["categoryGap"], m["maxWidth"] = len(f.Series), barGap, barCategoryGap, barMaxWidth
			// Half of a whisker lies on its bar: dark on a pale rim it is seen there and above.
			m["color"], m["rim"], m["hatch"] = colorText, true, seriesHatch(i)
		} else {
			m["distance"] = labelDistance + l.symbolSize/2
		}
		series = append(series, object{"clip": false, "silent": true, "z": 3, "marks": m})
	}
	if len(f.Phases) > 0 {
		series = append(series, object{"clip": false, "silent": true, "z": 0, "phases": object{
			"top": l.axis.max, "bottom": l.axis.min, "color": colorGrid, "textColor": colorMuted, "background": colorBg, "fontSize": labelSize,
		}})
	}
	all["series"] = series
	var names []string
	for _, s := range f.Series {
		names = append(names, s.Name)
	}
	all["names"] = names
	// For the reader who points at the chart: what every point is, in words.
	tips := make([][]any, len(f.Series))
	for i, s := range f.Series {
		for _, p := range s.Points {
			if p.Short != "" {
				tips[i] = append(tips[i], []string{p.Short, tip(p)}) // shown and said
			} else {
				tips[i] = append(tips[i], tip(p))
			}
		}
	}
	all["tips"], all["categories"] = tips, f.Categories
	if f.thin != nil {
		all["tips"], all["categories"] = f.thin.tips, f.thin.columnNames(f.Categories)
	}
	return all
}

// overlay lays b over a: objects and lists are merged, all else is replaced.
func overlay(a, b object) error {
	for key, over := range b {
		switch over := over.(type) {
		case object:
			under, ok := a[key].(object)
			if !ok {
				if a[key] != nil {
					return fmt.Errorf("%s is not an object", key)
				}
				under = object{}
				a[key] = under
			}
			if err := overlay(under, over); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		case []any:
			under, ok := a[key].([]any)
			if !ok || len(under) != len(over) {
				return fmt.Errorf("%s is not a list of %d", key, len(over))
			}
			for i := range over {
				if err := overlay(under[i].(object), over[i].(object)); err != nil {
					return fmt.Errorf("%s[%d]: %w", key, i, err)
				}
			}
		default:
			a[key] = over
		}
	}
	return nil
}

// width asks ECharts for the width of a text, so that both lay out by the same measure.
func (r *Renderer) width(text string, size int) (float64, error) {
	v, err := r.measure(goja.Undefined(), r.vm.ToValue(text), r.vm.ToValue(size))
	if err != nil {
		return 0, fmt.Errorf("measure %q: %w", text, err)
	}
	w := v.ToFloat()
	if math.IsNaN(w) {
		return 0, fmt.Errorf("measure %q: not a number", text)
	}
	return w, nil
}
