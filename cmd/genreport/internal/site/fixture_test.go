package site

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
	"genreport/measure"
)

// say picks the wording of a language.
func say(lang, zh, en string) string {
	if lang == "zh" {
		return zh
	}
	return en
}

// n is a number in text as article makes it.
func n(id, value string) string { return fmt.Sprintf(`<a class="n" href="#%s">%s</a>`, id, value) }

func sampleConfig() Config {
	return Config{
		Title:     map[string]string{"zh": "消息队列实测", "en": "Brokers, measured"},
		Author:    "genreport",
		Footer:    map[string][]string{"zh": {"文字与数据以 Apache-2.0 许可发布。"}, "en": {"Text and data under the Apache-2.0 licence."}},
		Languages: []string{"zh", "en"},
	}
}

func sampleInput(charts Charts) Input {
	in := Input{Config: sampleConfig(), Charts: charts, Tool: "0.1.0", Data: map[string][]byte{}}
	for _, e := range []string{"run", "channel-limit", "channel-cost", "channel-throughput", "connection-throughput"} {
		in.Data[sampleRun+"/"+e+".json"] = []byte("{}\n")
	}
	in.Data["run.schema.json"], in.Data["experiment.schema.json"] = []byte("{}\n"), []byte("{}\n")
	in.Pages = []article.Page{samplePage("zh"), samplePage("en")}
	return in
}

func withAsides(in Input) Input {
	in.Pages = append(in.Pages, sampleAside("zh"), sampleAside("en"))
	return in
}

func sampleAside(lang string) article.Page {
	return article.Page{Slug: "method", Lang: lang, Aside: true, Title: say(lang, "怎样读这些数字", "How to read these numbers"), Summary: say(lang, "方法", "The method"),
		Lede:     template.HTML(say(lang, "<p>每个数字都是测出来的。</p>", "<p>Every number was measured.</p>")),
		Contents: []article.Heading{{ID: "h", Text: say(lang, "重复", "Repeats")}},
		Blocks:   []article.Block{{HTML: template.HTML(`<h2 id="h">` + say(lang, "重复", "Repeats") + `</h2><p>…</p>`)}}}
}

const sampleRun = "20261130T221836Z"

func sampleLink(experiment string) article.Link {
	return article.Link{Href: "data/" + sampleRun + "/" + experiment + ".json", Text: experiment + ".json"}
}

func sampleCases() []article.Evidence {
	metric := func(name, description, median, low, high string, samples ...string) article.EvidenceMetric {
		m := article.EvidenceMetric{Name: name, Median: median, Low: low, High: high, Description: description}
		for _, text := range samples {
			m.Samples = append(m.Samples, article.ShownSample{Text: text})
		}
		return m
	}
	rate := func(median, low, high string, samples ...string) article.EvidenceMetric {
		m := metric("rate", "messages published per second, all connections together", median, low, high, samples...)
		m.Unit = "1/s"
		return m
	}
	command := func(experiment, labels string) string {
		return "genreport measure --broker debian:forky --experiment " + experiment + " --case " + labels + " --profile standard"
	}
	all := []article.Evidence{
		{ID: "e-limit", Experiment: "channel-limit", Labels: measure.Labels{"broker": "debian:forky", "client": "pika", "node": "default", "request": "default"},
			Metrics: []article.EvidenceMetric{
				metric("negotiated", "channel_max that the client answers in Connection.TuneOk", "2,047", "2,047", "2,047", "2,047", "2,047", "2,047"),
				metric("opened", "channels opened before the first failure", "2,047", "2,047", "2,047", "2,047", "2,047", "2,047"),
			}, Command: command("channel-limit", "client=pika,node=default,request=default")},
		{ID: "e-limit-16", Experiment: "channel-limit", Labels: measure.Labels{"broker": "debian:forky", "client": "pika", "node": "channel_max=16", "request": "default"},
			Metrics: []article.EvidenceMetric{
				metric("opened", "channels opened before the first failure", "16", "16", "16", "16", "16", "16"),
				{Name: "listed", Description: "channels of the connection in list_connections", Missing: "the node did not answer"},
			}, Command: command("channel-limit", "client=pika,node=channel_max=16,request=default")},
	}
	for i, c := range []string{"100", "1000", "2000"} {
		all = append(all, article.Evidence{ID: "e-cost-" + c, Experiment: "channel-cost",
			Labels: measure.Labels{"broker": "debian:forky", "client": "pika", "channels": c},
			Metrics: []article.EvidenceMetric{
				metric("processes_each", "Erlang processes per channel", "4.0", "4.0", "4.0", "4.0", "4.0", "4.0"),
				metric("memory_each", "memory of the Erlang VM per channel, after a garbage collection of all processes", []string{"17.2", "18.1", "18.0"}[i]+" KiB", "16.9 KiB", "19.6 KiB", "16.9 KiB", "18.0 KiB", "19.6 KiB"),
			}, Command: command("channel-cost", "client=pika,channels="+c)})
	}
	for i, c := range []string{"1", "4", "16", "64"} {
		m := rate([]string{"15,100", "14,900", "15,000", "14,600"}[i], "14,300", "15,400", "14,300", "15,100", "15,400")
		m.Interval = "14,400 – 15,300"
		all = append(all, article.Evidence{ID: "e-channels-" + c, Experiment: "channel-throughput",
			Labels:  measure.Labels{"broker": "debian:forky", "client": "pika", "channels": c},
			Metrics: []article.EvidenceMetric{m, metric("client_cpu", "CPU time of the client", "5.81 s", "5.74 s", "6.02 s", "5.74 s", "5.81 s", "6.02 s")},
			Command: command("channel-throughput", "client=pika,channels="+c)})
	}
	for i, c := range []string{"1", "2", "4", "8"} {
		all = append(all, article.Evidence{ID: "e-connections-" + c, Experiment: "connection-throughput",
			Labels:  measure.Labels{"broker": "debian:forky", "client": "pika", "connections": c},
			Metrics: []article.EvidenceMetric{rate([]string{"15,100", "25,800", "26,300", "25,900"}[i], "14,800", "26,900", "14,800", "26,300", "26,900")},
			Command: command("connection-throughput", "client=pika,connections="+c)})
	}
	for i := range all {
		e := &all[i]
		e.Data = sampleLink(e.Experiment)
		e.Repeats = 3
		switch e.ID {
		case "e-limit":
		case "e-limit-16":
			e.Failed = []article.FailedRepeat{{Repeat: 2, Reason: "integrity: 100000 messages were published and 99998 are in the queue",
				Counts: []article.Count{{Name: "sent", Value: "100,000"}, {Name: "enqueued", Value: "99,998"}, {Name: "out_of_order", Value: "0"}}}}
		case "e-channels-1":
			e.TooFew, e.Limits = true, article.Limits{Bounds: []article.Bound{{By: measure.BoundClient, Repeats: 3}}, Low: .341, High: .402, Share: true}
			e.Metrics[0].ClientBound = true
			e.Added = article.Added{Repeats: 3, Counts: []article.Count{{Name: "lost", Value: "0"}}}
		case "e-channels-4":
			e.TooFew, e.Limits = true, article.Limits{Bounds: []article.Bound{{By: measure.BoundNothing, Repeats: 2}, {By: measure.BoundClient, Repeats: 1}}}
			e.Metrics[0].ClientBound = true
		case "e-connections-8":
			e.Repeats = 1
			fallthrough
		default:
			e.TooFew, e.Limits = true, article.Limits{Bounds: []article.Bound{{By: measure.BoundHost, Repeats: e.Repeats}}, Low: .58, High: .58, Share: true}
		}
	}
	return all
}

func sampleFigure(lang, id string, kind chart.Kind) *article.Figure {
	x, categories := say(lang, "一个连接上的 channel 数", "Channels on one connection"), []string{"1", "4", "16", "64"}
	title := say(lang, "同一个连接上，channel 再多吞吐也不变", "On one connection, more channels change nothing")
	description := say(lang, "三种客户端的发布吞吐，channel 数从 1 到 64，三条线都是平的。", "Publishing rate of three clients with 1 to 64 channels; all three stay flat.")
	caption := say(lang, "看三组柱子的高度：从 1 个 channel 到 64 个，每种客户端都停在原来的水平。竖线是三次测量里的最小值和最大值。",
		"Look at the height within each colour: from 1 channel to 64, each client stays where it was. The whiskers reach from the smallest to the largest of three samples.")
	values := map[string][]float64{"go": {31200, 32800, 32100, 31500}, "go-batched": {61800, 64200, 63900, 62700}, "pika": {15100, 14900, 15000, 14600}}
	if kind == chart.Line {
		x, categories = say(lang, "连接数（各一个客户端进程）", "Connections, each a client process of its own"), []string{"1", "2", "4", "8"}
		title = say(lang, "连接带来吞吐，直到两个核用完", "Connections bring throughput, until two cores are used up")
		description = say(lang, "合计发布吞吐随连接数上升，4 个连接以后不再增长。", "Total publishing rate rises with connections and no longer after four.")
		caption = say(lang, "看拐点：第二个连接几乎让合计翻倍，第四个以后机器的两个核被客户端和 broker 分完。",
			"Look for the bend: the second connection nearly doubles the total; after the fourth, clients and broker have shared out the two cores.")
		values = map[string][]float64{"go": {31900, 52800, 55100, 54600}, "go-batched": {62400, 88700, 91200, 90100}, "pika": {15100, 25800, 26300, 25900}}
	}
	f := chart.Figure{ID: id + "-wide", Kind: kind, Title: title, Description: description, XTitle: x,
		YTitle: say(lang, "条/秒", "Messages per second"), Categories: categories}
	for _, name := range []string{"go", "go-batched", "pika"} {
		s := chart.Series{Name: name}
		for _, v := range values[name] {
			low, high := v*.97, v*1.03
			s.Points = append(s.Points, chart.Point{Value: &v, Low: &low, High: &high})
		}
		f.Series = append(f.Series, s)
	}
	narrow := f
	narrow.ID, narrow.Width, narrow.Height = id+"-narrow", 400, 320
	out := &article.Figure{ID: id, Title: template.HTML(title), Caption: template.HTML("<p>" + caption + "</p>"), Wide: f, Narrow: narrow}
	out.Table.Head = []string{x, "go", "go-batched", "pika"}
	for i, c := range categories {
		row := []string{c}
		for _, s := range f.Series {
			row = append(row, fmt.Sprintf("%.0f", *s.Points[i].Value))
		}
		out.Table.Rows = append(out.Table.Rows, row)
	}
	if kind == chart.Bar {
		out.Marked = []article.MarkedSeries{{Name: "pika", Points: []article.Link{{Href: "#e-channels-1", Text: "1"}, {Href: "#e-channels-4", Text: "4"}}},
			{Name: "go", Points: []article.Link{{Href: "#e-channels-4", Text: "4"}}}}
	}
	out.Data = []article.Link{sampleLink(map[chart.Kind]string{chart.Bar: "channel-throughput", chart.Line: "connection-throughput"}[kind])}
	return out
}

func samplePage(lang string) article.Page {
	html := func(zh, en string) article.Block {
		return article.Block{HTML: template.HTML(say(lang, zh, en))}
	}
	cells := func(all ...string) article.OutputLine {
		var l article.OutputLine
		for _, c := range all {
			l.Cells = append(l.Cells, template.HTML(c))
		}
		return l
	}
	head := func(all ...string) article.OutputLine {
		l := cells(all...)
		l.Head = true
		return l
	}
	output := func(lines ...article.OutputLine) article.Block {
		return article.Block{Output: &article.Output{Client: "pika 1.4.4", Lines: lines}}
	}
	rate := say(lang, "条/秒", "msg/s")
	perChannel := func(id, processes, memory string) string {
		return n(id, memory+" KiB") + " / " + n(id, processes) + say(lang, " 进程", " processes")
	}
	marked := func(id, value string) string {
		short, long := say(lang, "（受限于客户端）", " (client-bound)"), say(lang, "受限于客户端：压测客户端用满了自己的核", "client-bound: the load clients used up their cores")
		return n(id, value) + `<span class="mark"><a href="#` + id + `"><span aria-hidden="true" title="` + long + `">†</span><span class="unseen">` + short + `</span></a></span>`
	}
	channels := func(c, time, r string) article.OutputLine {
		label := say(lang, "1 个连接 × "+c+" 个 channel", "1 connection × "+c+" channels")
		if c == "1" {
			label = strings.TrimSuffix(label, "s")
		}
		show := n
		if c == "1" || c == "4" {
			show = marked
		}
		return cells(label, n("e-channels-"+c, time+" ms"), show("e-channels-"+c, r)+" "+rate)
	}
	connections := func(c, total, time, r string) article.OutputLine {
		label := say(lang, c+" 个连接（各 50,000 条，共 "+total+" 条）", c+" connections × 50,000 = "+total)
		return cells(label, n("e-connections-"+c, time+" ms"), n("e-connections-"+c, r)+" "+rate)
	}
	ended := time.Date(2026, 11, 30, 22, 51, 8, 0, time.UTC)
	return article.Page{
		Slug: "channels-and-connections", Lang: lang, Series: "RabbitMQ", Number: 21,
		Title:    say(lang, "连接与 channel 的数量：一个连接多少 channel 合适", "How many channels does a connection want?"),
		Question: say(lang, "一个连接该开多少 channel？开多了会变慢吗？想要更高的吞吐，应该加 channel 还是加连接？", "How many channels should one connection carry, do many of them slow it down, and is it channels or connections that bring throughput?"),
		Summary:  say(lang, "实测 channel 的上限、开销，以及 channel 与连接两种扩展方式的吞吐。", "Measured: the limit and the cost of channels, and how throughput grows with channels and with connections."),
		Lede: template.HTML(say(lang,
			"<p>AMQP 把两件事分开：连接是一条 TCP，channel 是连接里的一条逻辑通路。常见的建议是“连接要少，channel 可以多”，但很少有人说清楚多到多少、代价是什么、能换来什么。下面在真实的 RabbitMQ 节点上逐一测量。</p>",
			"<p>AMQP keeps two things apart: a connection is a TCP stream, a channel a logical path within it. The usual advice is “few connections, many channels”, but seldom how many, at what cost, and for what gain. Here each of these is measured on real RabbitMQ nodes.</p>")),
		Headlines: []article.Headline{
			{Value: template.HTML(n("e-limit", "2,047")), Label: template.HTML(say(lang, "channel_max：broker 允许一条连接上最多开的 channel 数", "channel_max: the most channels that a broker permits on one connection"))},
			{Value: template.HTML("~" + n("e-cost-2000", "4.0") + " / " + n("e-cost-2000", "18 KiB")), Label: template.HTML(say(lang, "每个 channel 在 broker 里的 Erlang 进程数和内存", "Erlang processes and memory of each channel in the broker"))},
			{Value: template.HTML(marked("e-channels-1", "15,100") + " → " + n("e-connections-4", "26,300")), Label: template.HTML(say(lang, "1 个连接与 4 个连接（各一个客户端进程）的总发布吞吐，条/秒", "total messages per second over 1 and over 4 connections, each a client process")),
				Note: template.HTML(say(lang, "Go 客户端：31,900 → 55,100", "Go client: 31,900 → 55,100"))},
		},
		Contents: []article.Heading{
			{ID: say(lang, "上限", "the-limit"), Text: say(lang, "上限", "The limit")}, {ID: say(lang, "开销", "the-cost"), Text: say(lang, "开销", "The cost")},
			{ID: say(lang, "channel-不提速", "channels-bring-no-speed"), Text: say(lang, "channel 不提速", "Channels bring no speed")},
			{ID: say(lang, "连接提速", "connections-do"), Text: say(lang, "连接提速", "Connections do")},
			{ID: say(lang, "工具与边界", "tools-and-boundaries"), Text: say(lang, "工具与边界", "Tools and boundaries")},
		},
		Blocks: []article.Block{
			html(`<h2 id="上限">上限</h2><p>一条连接最多能开多少 channel，由谁决定？</p>`, `<h2 id="the-limit">The limit</h2><p>How many channels fit on one connection, and who decides?</p>`),
			output(
				cells(say(lang, "协商后的 channel_max = ", "negotiated channel_max = ")+n("e-limit", "2,047")+say(lang, "（pika 默认请求 0，即不限；由 broker 在 Connection.Tune 里给出的 2,047 决定）", " (pika asks for 0, no limit; the broker's 2,047 in Connection.Tune decides)")),
				cells(say(lang, "开到第 ", "after channel ")+n("e-limit", "2,047")+say(lang, " 个之后，下一个失败：NoFreeChannels", " the next one fails: NoFreeChannels")),
				cells(say(lang, "list_connections 的 channels 列：", "list_connections, column channels: ")+n("e-limit-16", "2,047"))),
			html(`<p>broker 在 <code>Connection.Tune</code> 里报出 <code>channel_max</code>，默认 `+n("e-limit", "2,047")+`，客户端协商后只能更少，不能更多。把节点的 <code>channel_max</code> 设成 16，同一段代码就只开得出 `+n("e-limit-16", "16")+` 个。超出时是客户端库自己抛错，请求根本没有发到 broker；节点设成 0 的情形则是 <span class="missing">未测量（节点没有启动）</span>。</p>`,
				`<p>The broker names its <code>channel_max</code> in <code>Connection.Tune</code>, by default `+n("e-limit", "2,047")+`; a client may settle for less, never for more. With the node's <code>channel_max</code> set to 16, the same code opens just `+n("e-limit-16", "16")+`. What fails beyond that is the client library: the request never reaches the broker. With 0 on the node: <span class="missing">not measured (the node did not start)</span>.</p>`),
			html(`<h2 id="开销">开销</h2><p>每个 channel 要 broker 付出什么？</p>`, `<h2 id="the-cost">The cost</h2><p>What does each channel cost the broker?</p>`),
			output(
				head(say(lang, "channel 数", "channels"), say(lang, "Erlang 进程增量", "Erlang processes"), say(lang, "内存增量", "memory"), say(lang, "每个 channel", "per channel")),
				cells("100", n("e-cost-100", "+400"), n("e-cost-100", "1.7 MiB"), perChannel("e-cost-100", "4.0", "17.2")),
				cells("1,000", n("e-cost-1000", "+4,000"), n("e-cost-1000", "17.7 MiB"), perChannel("e-cost-1000", "4.0", "18.1")),
				cells("2,000", n("e-cost-2000", "+8,000"), n("e-cost-2000", "35.2 MiB"), perChannel("e-cost-2000", "4.0", "18.0"))),
			html(`<p>进程数精确地线性增长：每个 channel `+n("e-cost-2000", "4.0")+` 个 Erlang 进程。内存在回收垃圾之后是每个 `+n("e-cost-100", "17.2")+` 到 `+n("e-cost-1000", "18.1 KiB")+`。2,000 个 channel 只占几十 MiB，贵的不是它们本身，而是忘了关掉它们。</p>`,
				`<p>Processes grow exactly in line: `+n("e-cost-2000", "4.0")+` Erlang processes a channel. Memory, once garbage is collected, comes to between `+n("e-cost-100", "17.2")+` and `+n("e-cost-1000", "18.1 KiB")+` each. Two thousand channels are some tens of MiB; what is dear is not having them but forgetting to close them.</p>`),
			html(`<h2 id="channel-不提速">channel 不提速</h2><p>同一条连接上多开几个 channel 轮流发布，会更快吗？</p>`, `<h2 id="channels-bring-no-speed">Channels bring no speed</h2><p>Does publishing in turn over several channels of one connection go faster?</p>`),
			output(channels("1", "6,620", "15,100"), channels("4", "6,710", "14,900"), channels("16", "6,660", "15,000"), channels("64", "6,850", "14,600")),
			{Figure: sampleFigure(lang, "fig-channels", chart.Bar)},
			html(`<p>1、4、16、64 个 channel 的吞吐在 `+n("e-channels-64", "14,600")+` 到 `+marked("e-channels-1", "15,100")+` 条/秒之间，差别小于重复测量的抖动。channel 的价值是<strong>隔离</strong>：各自的错误、确认和消费者，而不是并行。</p>`,
				`<p>With 1, 4, 16 and 64 channels the rate stays between `+n("e-channels-64", "14,600")+` and `+marked("e-channels-1", "15,100")+` messages a second, less apart than repeats of the same case. What channels give is <strong>isolation</strong>: errors, confirms and consumers of their own. Not parallelism.</p>`),
			html(`<h2 id="连接提速">连接提速</h2><p>那么多开连接呢？每条连接用一个独立的客户端进程。</p>`, `<h2 id="connections-do">Connections do</h2><p>And more connections, each in a client process of its own?</p>`),
			output(
				head(say(lang, "连接", "connections"), say(lang, "最慢的一个", "slowest"), say(lang, "合计", "total")),
				connections("1", "50,000", "3,310", "15,100"), connections("2", "100,000", "3,880", "25,800"), connections("4", "200,000", "7,600", "26,300"), connections("8", "400,000", "15,440", "25,900")),
			{Figure: sampleFigure(lang, "fig-connections", chart.Line)},
			html(`<p>第二条连接把合计提到 `+n("e-connections-2", "25,800")+` 条/秒，四条是 `+n("e-connections-4", "26,300")+`，八条不再增长：两个核已经被客户端和 broker 分完。要吞吐，先加连接（和核），再谈别的。</p>`,
				`<p>A second connection lifts the total to `+n("e-connections-2", "25,800")+` messages a second, four reach `+n("e-connections-4", "26,300")+`, and eight no more: clients and broker have shared out both cores. For throughput add connections (and cores) first.</p>`),
			html(`<h2 id="工具与边界">工具与边界</h2><ul><li>节点是本机启动的 RabbitMQ，只监听 127.0.0.1，每次测量用独立的数据目录；客户端是 pika 与 amqp091-go，发布不开 confirm，结束时在每个 channel 上用一次被动声明确认发完。</li><li>没有验证：开 confirm 时多 channel 的吞吐；消费端的对比；核更多的机器上连接数的上限；TLS 的开销。</li></ul>`,
				`<h2 id="tools-and-boundaries">Tools and boundaries</h2><ul><li>The nodes are RabbitMQ started on this machine, listening on 127.0.0.1 only, each with a data directory of its own. Clients are pika and amqp091-go, publishing without confirms; a passive declare on every channel ends each case.</li><li>Not verified: many channels with confirms; the consuming side; where connections stop helping on more cores; the cost of TLS.</li></ul>`),
		},
		Evidence: sampleCases(),
		Runs: []article.Source{{
			Run: measure.Run{ID: sampleRun, Profile: "standard", Started: time.Date(2026, 11, 30, 22, 18, 36, 0, time.UTC), Ended: &ended,
				Tool:    measure.Tool{Version: "0.1.0", Commit: "ec6c11e0d1c2b3a4958677", Go: "go1.26.8"},
				Machine: measure.Machine{CPU: "Intel(R) Xeon(R) Processor", Cores: 2, MemoryBytes: 25276063744, OS: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.18.44", Arch: "amd64", Virtualisation: "virtual machine"},
				Brokers: []measure.Broker{{Label: "debian:forky", RabbitMQ: "4.3.6", Erlang: "29.1.1"}},
				Clients: []measure.Client{{Label: "go", Library: "amqp091-go", Version: "v1.16.0", Runtime: "go1.26.8"}, {Label: "go-batched", Library: "amqp091-go", Version: "v1.16.0", Runtime: "go1.26.8"}, {Label: "pika", Library: "pika", Version: "1.4.4", Runtime: "Python 3.14.8"}}},
			Experiments: []string{"channel-limit", "channel-cost", "channel-throughput", "connection-throughput"},
			Data:        sampleLink("run"),
		}},
	}
}
