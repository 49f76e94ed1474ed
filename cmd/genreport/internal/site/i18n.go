package site

import (
	"fmt"

	"genreport/cmd/genreport/internal/claim"
)

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
	OtherMetrics                   string // takes a number
	Figure, FigureData, Files      string // Figure takes a number
	Output                         string
	Evidence, EvidenceText         string
	Claims, ClaimsText             string
	ClaimTested, ClaimVerdict      string
	ClaimExpected                  string // takes a verdict
	ClaimHolds, ClaimFails         string
	ClaimUndecided, ClaimCases     string
	ClaimCounts                    map[claim.Verdict][2]string // of one and of several; each takes a number
	CaseOne, CaseMany              string                      // the latter takes a number
	Range, Interval, Samples       string
	Outlier                        string // behind a sample that lies far from the others
	NotMeasured, Open, Close       string
	Run, Profile, Date, Machine    string
	Broker, Client, Tool           string
	Experiments, Warnings, RunFile string
	Format                         string
	Semicolon, Comma, Colon        string
	Spread, Explained, FullStop    string

	// What stands behind a number.
	BoundBy, Mixed, RepeatOne, RepeatMany                           string
	BoundHost, BoundClient, BoundBroker, BoundNothing, BoundUnknown string
	BrokerShare                                                     string // takes a share
	TooFewOne, TooFewMany                                           string // the latter takes a number and the certainty
	Messages, AddUp, FailedRepeat                                   string // AddUp takes two numbers, FailedRepeat one
	Control, Drift, DriftedRun, Drifted                             string // drift and limit; DriftedRun takes run and drift, Drifted these of all runs, and the limit
	ClientBound, ClientBoundNote                                    string
	Sent, Acked, Nacked, Unconfirmed, Returned, Enqueued            string // each takes a number as text
	Consumed, Left, Lost, Duplicated, OutOfOrder                    string
	Cores, Kernel, Dirty                                            string // Cores takes a number
	Separator                                                       string // between things listed

	// Around the page.
	Locale                                        string // as Open Graph names it
	Theme, ThemeSystem, ThemeLight, ThemeDark     string
	Copy, Copied                                  string
	Feed, ChangesFeed, ChangesText                string
	Archive, ArchiveText, ArchiveLink             string
	AsThen, Cells, CellsOf, MadeFrom, ResultFiles string // CellsOf takes three numbers: done, planned, failed
	EarlierNotice, ToToday                        string
	Technique                                     string // how results are measured, in a sentence
	DatasetName, DatasetText                      string
	Before, After                                 string
	Previous, Next, Series                        string
	Governor, Load                                string // Load takes a number
	Errata, ErrataText                            string
	Given, GivenText                              string // of what nobody measured here
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
			OtherMetrics: "（另有 %d 项指标）", Figure: "图 %d", FigureData: "数据表", Files: "结果文件：",
			Output:   "实测 · 本机执行输出",
			Evidence: "数据与复现", EvidenceText: "正文里的每个数字都链接到这里：各次测量的原始值、离散程度，以及只重跑这一项的命令。",
			Claims: "断言", ClaimsText: "正文里带有 ✓、✗ 或 ? 的句子各是一条断言：措辞由测量结果决定，连同离散程度和机器的漂移一起判断。",
			ClaimTested: "检验的内容", ClaimVerdict: "结论", ClaimExpected: "本文按“%s”写成", ClaimCases: "样本：",
			ClaimHolds: "成立", ClaimFails: "不成立", ClaimUndecided: "未定",
			ClaimCounts: map[claim.Verdict][2]string{claim.Holds: {"%d 条成立", "%d 条成立"}, claim.Fails: {"%d 条不成立", "%d 条不成立"}, claim.Undecided: {"%d 条未定", "%d 条未定"}},
			CaseOne:     "1 组", CaseMany: "%d 组",
			Range: "范围", Interval: "95% 区间", Samples: "各次", Outlier: "（离群，照计）",
			NotMeasured: "未测量", Open: "（", Close: "）",
			Run: "测量批次", Profile: "档位", Date: "时间", Machine: "机器", Broker: "broker", Client: "客户端", Tool: "工具",
			Experiments: "实验", Warnings: "注意", RunFile: "记录", Format: "格式",
			Semicolon: "；", Comma: "，", Colon: "：", Spread: "离散程度", Explained: "这些数字怎么来、怎么读，见", FullStop: "。",
			BoundBy: "瓶颈", Mixed: "各次不一：", RepeatOne: "1 次", RepeatMany: "%d 次",
			BoundHost: "受限于整机，已没有空闲的核", BoundClient: "受限于客户端，压测客户端用满了自己的核", BoundBroker: "受限于 broker，它用满了一个核，而别处还有空闲",
			BoundNothing: "不受 CPU 限制", BoundUnknown: "无法判断",
			BrokerShare: "忙碌的 CPU 时间里 broker 占 %s",
			TooFewOne:   "不给出 95% 区间：只有 1 次测量，看不出离散程度，至少要 6 次。", TooFewMany: "不给出 95%% 区间：%d 次重复的最小值到最大值包住真正中位数的概率只有 %s，至少要 6 次。",
			Messages: "消息清点", AddUp: "%d/%d 次重复对得上", FailedRepeat: "第 %d 次失败",
			Control: "对照负载", Drift: "最大偏移 %s（限度 %s）",
			DriftedRun:  "批次 %s 的对照负载偏移了 %s",
			Drifted:     "测量期间机器状态不稳：%s，超过 %s 的限度。相隔几分钟测得的数字，差别不到这个幅度就不能说谁高谁低；同一实验的各种情形按轮次并排测量，断言须在每一轮都成立。",
			ClientBound: "受限于客户端", ClientBoundNote: "受限于客户端：压测客户端用满了自己的核，broker 也许还能更快。",
			Sent: "发送 %s", Acked: "确认 %s", Nacked: "拒绝 %s", Unconfirmed: "未确认 %s", Returned: "退回 %s", Enqueued: "入队 %s",
			Consumed: "消费 %s", Left: "队列剩余 %s", Lost: "丢失 %s", Duplicated: "重复 %s", OutOfOrder: "乱序 %s",
			Cores: "%d 核", Kernel: "内核", Dirty: "含未提交的改动", Separator: " · ",
			Locale: "zh_CN", Theme: "配色：", ThemeSystem: "跟随系统", ThemeLight: "浅色",
			ThemeDark: "深色", Copy: "复制", Copied: "已复制", Feed: "文章更新（Atom）",
			ChangesFeed: "断言变化（Atom）", ChangesText: "新的测量让某条断言的结论改变时，这里多一条。", Archive: "全部测量批次", ArchiveText: "网站上的数字来自这些测量批次；每一批都附原始的结果文件。",
			ArchiveLink: "在测量批次列表里", AsThen: "当时的版本", Cells: "测量次数", CellsOf: "完成 %d 次，计划 %d 次，失败 %d 次",
			EarlierNotice: "这是较早一批测量的版本，数字不是最新的。", ToToday: "看最新的版本", DatasetName: "测量数据", DatasetText: "全部原始样本，JSON 格式。", Technique: "负载客户端与真实的 broker 节点在同一台机器上运行，各种情形按轮次交替测量，取中位数。",
			Before: "之前", After: "之后", Previous: "上一篇", Next: "下一篇",
			Series: "同一系列的文章", Governor: "调频策略", Load: "测量开始时负载 %s", ResultFiles: "结果文件", MadeFrom: "用于文章：",
			Given: "给定的数字", GivenText: "正文里带点状下划线的这些数字不是在这里测出来的；这里是它们的出处。",
			Errata: "勘误与更正", ErrataText: "发表之后改正的地方。",
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
			OtherMetrics: " (and %d more metrics)", Figure: "Figure %d", FigureData: "Data table", Files: "Result files: ",
			Output:   "Measured · output on this machine",
			Evidence: "Samples and commands", EvidenceText: "Every number in the text leads here: to the raw values, how far they spread, and the command that measures just this case again.",
			Claims: "Claims", ClaimsText: "Each sentence with a ✓, ✗ or ? is a claim: the results choose its wording, with their spread and the machine's drift taken into account.",
			ClaimTested: "what is tested", ClaimVerdict: "verdict", ClaimExpected: "the article is written for: %s", ClaimCases: "samples: ",
			ClaimHolds: "holds", ClaimFails: "does not hold", ClaimUndecided: "undecided",
			ClaimCounts: map[claim.Verdict][2]string{claim.Holds: {"%d holds", "%d hold"}, claim.Fails: {"%d does not hold", "%d do not hold"}, claim.Undecided: {"%d undecided", "%d undecided"}},
			CaseOne:     "1 case", CaseMany: "%d cases",
			Range: "range", Interval: "95% interval", Samples: "samples", Outlier: " (outlier, counted)",
			NotMeasured: "not measured", Open: " (", Close: ")",
			Run: "Run", Profile: "Profile", Date: "Time", Machine: "Machine", Broker: "Brokers", Client: "Clients", Tool: "Tool",
			Experiments: "Experiments", Warnings: "Warnings", RunFile: "Record", Format: "Format",
			Semicolon: "; ", Comma: ", ", Colon: ": ", Spread: "spread", Explained: "How they come about and what they mean: ", FullStop: ".",
			BoundBy: "bound by", Mixed: "mixed: ", RepeatOne: "1 repeat", RepeatMany: "%d repeats",
			BoundHost: "host-bound, the machine had no core time left", BoundClient: "client-bound, the load clients used up their cores", BoundBroker: "broker-bound, it used up a core while others had time left",
			BoundNothing: "not bound by anyone's CPU", BoundUnknown: "it can't be told",
			BrokerShare: "the broker used %s of the busy CPU time",
			TooFewOne:   "no 95% interval: one sample says nothing of the spread; it takes 6.", TooFewMany: "no 95%% interval: the range of %d repeats holds the true median with a probability of only %s; it takes 6 repeats.",
			Messages: "messages", AddUp: "%d of %d repeats add up", FailedRepeat: "repeat %d failed",
			Control: "Control", Drift: "largest drift %s (limit %s)",
			DriftedRun:  "during run %s the control load drifted by %s",
			Drifted:     "The machine was not steady: %s, more than the limit of %s. Numbers from different minutes of it can't be compared more finely than that. Cases of one experiment were measured in rounds, side by side, and a claim must hold in every round.",
			ClientBound: "client-bound", ClientBoundNote: "Client-bound: the load clients used up their cores, the broker may do more.",
			Sent: "%s sent", Acked: "%s confirmed", Nacked: "%s refused", Unconfirmed: "%s unconfirmed", Returned: "%s returned", Enqueued: "%s enqueued",
			Consumed: "%s consumed", Left: "%s left in the queue", Lost: "%s lost", Duplicated: "%s duplicated", OutOfOrder: "%s out of order",
			Cores: "%d cores", Kernel: "kernel", Dirty: "with uncommitted changes", Separator: " · ",
			Locale: "en_US", Theme: "Colours: ", ThemeSystem: "as the system has them", ThemeLight: "light",
			ThemeDark: "dark", Copy: "Copy", Copied: "Copied", Feed: "Feed of articles (Atom)",
			ChangesFeed: "Feed of changed claims (Atom)", ChangesText: "An entry for each claim whose verdict a new run changed.", Archive: "All runs", ArchiveText: "The runs that the numbers here are from, each with its result files.",
			ArchiveLink: "in the list of runs", AsThen: "as it read then", Cells: "Cells", CellsOf: "%d of %d measured, %d failed",
			EarlierNotice: "This is the article as an earlier run made it; its numbers are not the latest.", ToToday: "Read the latest", DatasetName: "measurements", DatasetText: "All raw samples, as JSON.", Technique: "Load clients and real broker nodes on one machine; cases take turns over several rounds, and the median counts.",
			Before: "before", After: "after", Previous: "Previous", Next: "Next",
			Series: "More of the series", Governor: "governor", Load: "load %s when the run began", ResultFiles: "Result files", MadeFrom: "Articles: ",
			Given: "Given numbers", GivenText: "Numbers of the text with a dotted line below them come from elsewhere. This is where.",
			Errata: "Errata and corrections", ErrataText: "What was put right after the article was published.",
		}, nil
	}
	return text{}, fmt.Errorf("no texts of the page for language %q: add them to i18n.go", lang)
}

// fate is what a message can meet with, by its key in result files.
func (t text) fate(key string) string {
	return map[string]string{"sent": t.Sent, "acked": t.Acked, "nacked": t.Nacked, "unconfirmed": t.Unconfirmed, "returned": t.Returned, "enqueued": t.Enqueued,
		"consumed": t.Consumed, "left": t.Left, "lost": t.Lost, "duplicated": t.Duplicated, "out_of_order": t.OutOfOrder}[key]
}

// count is one or many, said with the right wording.
func count(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}
