package site

import "fmt"

// text is every string of a page that isn't the article's own, in one
// language. Both languages put a space between Han and Latin script, as the
// articles do.
type text struct {
	Lang string // as in file names
	Tag  string // as in lang attributes
	Name string // of the language, in itself

	Skip, Languages                string
	MadeBy                         string // takes a version
	Tagline, AllArticles           string
	NoArticles                     string
	NotFound, NotFoundText         string
	Draft, DraftTag                string
	MissingOne, MissingMany        string // the latter takes a number
	MeasuredOn, Contents           string
	Figure, FigureData, Files      string // Figure takes a number
	Output                         string
	Evidence, EvidenceText         string
	CaseOne, CaseMany              string // the latter takes a number
	Range, Interval, Samples       string
	NotMeasured, Open, Close       string
	Run, Profile, Date, Machine    string
	Broker, Client, Tool           string
	Experiments, Warnings, RunFile string
	Format                         string
	Cores, Kernel, Dirty           string // Cores takes a number
	Separator                      string // between things listed
}

// ui is the strings of a language.
func ui(lang string) (text, error) {
	switch lang {
	case "zh":
		return text{
			Lang: "zh", Tag: "zh-Hans", Name: "中文",
			Skip: "跳到正文", Languages: "语言", MadeBy: "由 genreport %s 生成",
			Tagline: "每个数字都来自可以重跑的测量。", AllArticles: "全部文章", NoArticles: "还没有文章。",
			NotFound: "没有这个页面", NotFoundText: "它可能换了地址，也可能从来没有过。",
			DraftTag: "草稿", Draft: "数字来自 quick 档的快速测量，只供试用，不用于发布。",
			MissingOne: "本文有 1 处数字未测量，原因写在原处。", MissingMany: "本文有 %d 处数字未测量，原因写在各处。",
			MeasuredOn: "测量于", Contents: "目录",
			Figure: "图 %d", FigureData: "数据表", Files: "结果文件：",
			Output:   "实测 · 本机执行输出",
			Evidence: "数据与复现", EvidenceText: "正文里的每个数字都链接到这里：各次测量的原始值、离散程度，以及只重跑这一项的命令。",
			CaseOne: "1 组", CaseMany: "%d 组",
			Range: "范围", Interval: "95% 区间", Samples: "各次",
			NotMeasured: "未测量", Open: "（", Close: "）",
			Run: "测量批次", Profile: "档位", Date: "时间", Machine: "机器", Broker: "broker", Client: "客户端", Tool: "工具",
			Experiments: "实验", Warnings: "注意", RunFile: "记录", Format: "格式",
			Cores: "%d 核", Kernel: "内核", Dirty: "含未提交的改动", Separator: " · ",
		}, nil
	case "en":
		return text{
			Lang: "en", Tag: "en", Name: "English",
			Skip: "Skip to the text", Languages: "Language", MadeBy: "Made with genreport %s",
			Tagline: "Every number comes from a measurement that can be run again.", AllArticles: "All articles", NoArticles: "No articles yet.",
			NotFound: "No such page", NotFoundText: "It may have moved, or never have been there.",
			DraftTag: "Draft", Draft: "Numbers of a quick run, for trying out, not for publishing.",
			MissingOne: "One number of this article was not measured; the reason stands in its place.", MissingMany: "%d numbers of this article were not measured; the reasons stand in their places.",
			MeasuredOn: "Measured on", Contents: "Contents",
			Figure: "Figure %d", FigureData: "Data table", Files: "Result files:",
			Output:   "Measured · output on this machine",
			Evidence: "Samples and commands", EvidenceText: "Every number in the text leads here: to the raw values, how far they spread, and the command that measures just this case again.",
			CaseOne: "1 case", CaseMany: "%d cases",
			Range: "range", Interval: "95% interval", Samples: "samples",
			NotMeasured: "not measured", Open: " (", Close: ")",
			Run: "Run", Profile: "Profile", Date: "Time", Machine: "Machine", Broker: "Brokers", Client: "Clients", Tool: "Tool",
			Experiments: "Experiments", Warnings: "Warnings", RunFile: "Record", Format: "Format",
			Cores: "%d cores", Kernel: "kernel", Dirty: "with uncommitted changes", Separator: " · ",
		}, nil
	}
	return text{}, fmt.Errorf("no texts of the page for language %q: add them to i18n.go", lang)
}

// count is one or many, said with the right wording.
func count(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}
