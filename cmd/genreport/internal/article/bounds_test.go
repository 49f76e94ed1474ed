package article

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"genreport/measure"
	"genreport/measure/stats"
)

// core is ten seconds of two cores; the clients are one process.
func core(clients, broker, idle float64) *measure.CPU {
	return &measure.CPU{Wall: 10, Cores: 2, Processes: 1, Clients: measure.Float(clients), Broker: measure.Float(broker), Idle: measure.Float(idle), Steal: measure.Float(0)}
}

var (
	hostCPU   = core(8, 11, 1)    // 5 % idle; 11 of 19 busy seconds
	clientCPU = core(9.5, 5, 5.5) // 5 of 14.5
	brokerCPU = core(3, 9.5, 7.5)
	idleCPU   = core(1, 1, 18)
)

// withCPU gives the repeats of a case their CPU in turn.
func withCPU(client, channels string, all ...*measure.CPU) func(measure.Result) {
	return func(r measure.Result) {
		n := 0
		for i, c := range r.Cells {
			if c.Labels["client"] == client && c.Labels["channels"] == channels {
				r.Cells[i].CPU = all[n%len(all)]
				n++
			}
		}
	}
}

func evidence(t *testing.T, d Data, client string) Evidence {
	t.Helper()
	p, err := page(t, d, testContent("en", testHead, "## H\n\n${channels/rate client="+client+" channels=1000}\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Evidence) != 1 {
		t.Fatalf("%d cases", len(p.Evidence))
	}
	return p.Evidence[0]
}

// The verdict of a case is that of its repeats, or all of them where they
// don't agree, with the least and the largest share of the broker.
func TestLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		cpu  []*measure.CPU
		want string
	}{
		"nothing recorded":    {nil, "[]"},
		"all of one mind":     {[]*measure.CPU{hostCPU}, "[{host 7}] 58–58"},
		"client":              {[]*measure.CPU{clientCPU}, "[{client 7}] 34–34"},
		"broker":              {[]*measure.CPU{brokerCPU}, "[{broker 7}] 76–76"},
		"nobody":              {[]*measure.CPU{idleCPU}, "[{none 7}] 50–50"},
		"not of one mind":     {[]*measure.CPU{idleCPU, clientCPU, clientCPU}, "[{client 4} {none 3}] 34–50"},
		"one recorded it not": {[]*measure.CPU{nil, clientCPU, clientCPU, clientCPU, clientCPU, clientCPU, clientCPU}, "[{client 6} { 1}] 34–34"},
	} {
		d := testData()
		if tt.cpu != nil {
			d = testData(withCPU("go", "1000", tt.cpu...))
		}
		l := evidence(t, d, "go").Limits
		got := fmt.Sprint(l.Bounds)
		if l.Share {
			got += fmt.Sprintf(" %.0f–%.0f", 100*l.Low, 100*l.High)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// A rate that the clients held back is marked wherever it is shown; one that
// the machine or the broker held back is not, and nor is another metric.
func TestClientBoundMark(t *testing.T) {
	d := testData(withCPU("pika", "1000", clientCPU), withCPU("go", "1000", hostCPU), withCPU("go", "2000", brokerCPU), withCPU("pika", "2000", idleCPU, clientCPU))
	for text, want := range map[string]string{ // the case that the mark leads to; "": no mark
		"channels/rate client=pika channels=1000":                "1000",
		"channels/rate client=pika channels=1000 | max":          "1000",
		"channels/rate client=pika channels=1000 | per=channels": "1000",
		"channels/rate client=pika channels=2000":                "2000", // in some repeats
		"channels/rate client=pika | range":                      "1000",
		"channels/rate client=pika | slope=channels":             "1000",
		"channels/rate client=go channels=1000 : client=pika":    "1000",
		"channels/rate client=go channels=1000":                  "",
		"channels/rate client=go | range":                        "",
		"channels/rate client=go channels=2000 : channels=1000":  "",
		"channels/memory client=pika channels=1000":              "",
		"channels/processes client=pika channels=1000":           "",
		"channels/error client=pika channels=1000":               "",
	} {
		for lang, short := range map[string]string{"en": " (client-bound)", "zh": "\uff08受限于客户端\uff09"} {
			head := strings.Replace(strings.Replace(testHead, "title: Title", `title: "Title ${`+text+`}"`, 1), `value: "1"`, `value: "${`+text+`}"`, 1)
			body := "## Heading ${" + text + "}\n\n**so ${" + text + "}**\n\n```output experiment=channels\nx || ${" + text + "}\n```\n"
			p, err := page(t, d, testContent(lang, head, body, ""))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			mark := `<span class="mark"><a href="#e-channels-broker-debian_forky-channels-` + want + `-client-pika"><span aria-hidden="true" title="`
			var output string
			for _, b := range p.Blocks {
				if b.Output != nil {
					output = string(b.Output.Lines[0].Cells[1])
				}
			}
			for place, h := range map[string]string{"headline": string(p.Headlines[0].Value), "output": output} {
				if has := strings.Contains(h, mark) && strings.Contains(h, "†") && strings.Contains(h, `<span class="unseen">`+short+`</span>`); has != (want != "") {
					t.Errorf("%s: %s: %s", text, place, h)
				}
			}
			if n := strings.Count(bodyHTML(p), mark); (n == 2) != (want != "") { // heading and paragraph
				t.Errorf("%s: %d marks in the text", text, n)
			}
			for place, words := range map[string]string{"title": p.Title, "contents": p.Contents[0].Text} {
				if strings.HasSuffix(words, short) != (want != "") || strings.Contains(words, "<span") {
					t.Errorf("%s: %s: %s", text, place, words)
				}
			}
		}
	}
	for _, m := range evidence(t, d, "pika").Metrics {
		if m.ClientBound != (m.Name == "rate") {
			t.Errorf("evidence of %s: marked %v", m.Name, m.ClientBound)
		}
	}
}

func TestClientBoundFigure(t *testing.T) {
	d := testData(withCPU("pika", "2000", clientCPU), withCPU("go", "1000", hostCPU))
	p, err := page(t, d, testContent("en", testHead, "## H\n\n```figure f\ntitle: T ${channels/rate client=pika channels=2000}\nalt: A.\nnames: {pika: Pika}\n```\n",
		"figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client, labels: true}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	f := p.Blocks[len(p.Blocks)-1].Figure
	want := []MarkedSeries{{Name: "Pika", Points: []Link{{Href: "#e-channels-broker-debian_forky-channels-2000-client-pika", Text: "2,000"}}}}
	if !reflect.DeepEqual(f.Marked, want) {
		t.Errorf("%+v, want %+v", f.Marked, want)
	}
	if got := fmt.Sprint(f.Table.Rows); got != "[[1,000 100 (97–103) 50 (47–53)] [2,000 250 (247–253) 50† (47–53)]]" {
		t.Errorf("table %s", got)
	}
	for i, s := range f.Wide.Series {
		for k, point := range s.Points {
			if strings.HasSuffix(point.Label, "†") != (i == 1 && k == 1) {
				t.Errorf("%s, point %d: label %s", s.Name, k, point.Label)
			}
		}
	}
	if f.Wide.Title != "T 50 (client-bound)" {
		t.Errorf("title %q", f.Wide.Title)
	}
}

// An interval is claimed from as many samples on as the statistics give one.
func TestIntervalRepeats(t *testing.T) {
	for n := 1; n <= 10; n++ {
		samples := make([]float64, n)
		for i := range samples {
			samples[i] = float64(i)
		}
		s, err := stats.Summarize(samples)
		if err != nil || s.Interval != (n >= intervalRepeats) || s.Interval != (Certainty(n) >= stats.Confidence) {
			t.Errorf("%d samples: interval %v, certainty %g, %v", n, s.Interval, Certainty(n), err)
		}
	}
	if got := Certainty(5); got != 0.9375 { // 1 − 2·(1/2)⁵
		t.Errorf("of five samples: %g", got)
	}
	if Certainty(1) != 0 || Certainty(0) != 0 {
		t.Error("one sample says something of the spread")
	}
	few := func(r measure.Result) {
		for i := range r.Cells {
			r.Cells[i].Labels = overlay(r.Cells[i].Labels, measure.Labels{"half": fmt.Sprint(r.Cells[i].Repeat > 5)})
		}
	}
	if e := evidence(t, testData(), "go"); e.TooFew || e.Repeats != 7 {
		t.Errorf("seven repeats: too few %v, %d repeats", e.TooFew, e.Repeats)
	}
	r := testRecorded("standard").Results["channels"]
	few(r)
	for _, g := range NewData(nil, nil, nil).groups(r, measure.Labels{"half": "false"}) {
		if !g.tooFew(r.Metrics) || g.tooFew(map[string]measure.Metric{"processes": r.Metrics["processes"]}) {
			t.Errorf("five repeats: %v, exact counts alone: %v", g.tooFew(r.Metrics), g.tooFew(map[string]measure.Metric{"processes": r.Metrics["processes"]}))
		}
	}
}

// A failed repeat is shown with its reason and what was counted, and what
// reads "not measured" leads there.
func TestFailedRepeat(t *testing.T) {
	no := measure.Missing("without confirms")
	sum := measure.Integrity{Sent: 100000, Acked: no, Nacked: no, Unconfirmed: no, Returned: no, Enqueued: measure.Int(100000), Consumed: no, Left: no,
		Lost: measure.Int(2), Duplicated: measure.Int(0), OutOfOrder: no}
	d := testData(func(r measure.Result) {
		for i := range r.Cells {
			fine := sum
			r.Cells[i].Integrity = &fine
		}
		c := &r.Cells[2] // go, 1000 channels
		c.Failure = &measure.Failure{Reason: "integrity: 2 messages too few"}
		bad := sum
		bad.Enqueued = measure.Int(99998)
		c.Integrity = &bad
		for name := range c.Values {
			c.Values[name] = measure.Missing("integrity: 2 messages too few")
		}
	})
	e := evidence(t, d, "go")
	want := []FailedRepeat{{3, "integrity: 2 messages too few", []Count{{"sent", "100,000"}, {"enqueued", "99,998"}, {"lost", "2"}, {"duplicated", "0"}}}}
	if !reflect.DeepEqual(e.Failed, want) {
		t.Errorf("%+v", e.Failed)
	}
	if want := (Added{6, []Count{{"lost", "12"}, {"duplicated", "0"}}}); !reflect.DeepEqual(e.Added, want) { // 6 × 2
		t.Errorf("%+v", e.Added)
	}
	p, err := page(t, d, testContent("en", testHead, "## H\n\nfine\n${channels/rate client=go channels=1000}\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(bodyHTML(p), `<a class="n" href="#`+e.ID+`"><span class="missing">not measured (integrity: 2 messages too few)</span></a>`) {
		t.Error(bodyHTML(p))
	}
	if want := []Unmet{{Place{"en/a.md", headLines + 4, 1}, "integrity: 2 messages too few"}}; !reflect.DeepEqual(p.Unmet, want) {
		t.Errorf("%+v, want %+v", p.Unmet, want)
	}
}

// Each reference without a number is told with its place.
func TestUnmetPlaces(t *testing.T) {
	head := strings.Replace(testHead, `value: "2"`, `value: "${unmeasured/limit client=go}"`, 1)
	body := strings.Join([]string{
		/* +1 */ "## H ${unmeasured/limit client=go}",
		/* +2 */ "",
		/* +3 */ "```output experiment=unmeasured client=go",
		/* +4 */ "first",
		/* +5 */ "limit || ${limit}",
		/* +6 */ "```",
		/* +7 */ "",
		/* +8 */ "```figure f",
		/* +9 */ "title: T",
		/* +10 */ "alt: A.",
		/* +11 */ "```",
		"",
	}, "\n")
	p, err := page(t, testData(), testContent("en", head, body, "figures: {f: {kind: bar, experiment: unmeasured, metric: limit, x: client, series: client}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, u := range p.Unmet {
		if u.File != "en/a.md" || !strings.HasPrefix(u.Reason, "no complete") {
			t.Errorf("%+v", u)
		}
		lines = append(lines, u.Line)
	}
	if want := []int{headLines + 1, headLines + 5, headLines + 8, 7}; !reflect.DeepEqual(lines, want) {
		t.Errorf("lines %v, want %v", lines, want)
	}
}

// A metric that came after the run reads as not measured, never as 0.
func TestMetricThatTheRunLacks(t *testing.T) {
	d := testData(func(r measure.Result) {
		for i := range r.Cells {
			delete(r.Cells[i].Values, "memory")
		}
	})
	p, err := page(t, d, testContent("en", testHead, "## H\n\n${channels/memory client=go channels=1000}\n", ""))
	if err != nil || !strings.Contains(textOf(bodyHTML(p)), "\nnot measured (the run did not measure memory)\n") {
		t.Errorf("%s, %v", bodyHTML(p), err)
	}
}
