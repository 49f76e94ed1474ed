package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"genreport/measure"
)

func testMetrics() map[string]measure.Metric {
	return map[string]measure.Metric{
		"rate":   {Unit: measure.PerSecond, Better: measure.Higher, Description: "messages per second"},
		"delay":  {Unit: measure.Seconds, Better: measure.Lower, Description: "until the first message"},
		"opened": {Unit: measure.Count, Better: measure.Neither, Exact: true, Description: "channels opened"},
	}
}

// recorded is a run with the experiment "flow" of no cells yet.
func recorded(day int) measure.Recorded {
	run := measure.NewRun(time.Date(2026, 12, day, 10, 0, 0, 0, time.UTC), "standard")
	ended := run.Started.Add(90 * time.Second)
	run.Ended = &ended
	run.Tool = measure.Tool{Version: "0.1.0", Commit: "0123456789abcdef", Go: "go1.26"}
	run.Machine = measure.Machine{CPU: "A CPU", Cores: 2, MemoryBytes: 24 << 30, OS: "Debian", Kernel: "6.1", Arch: "amd64", Load1: 0.07}
	run.Brokers = []measure.Broker{{Label: "debian:forky", RabbitMQ: "4.3.6", Erlang: "29.1"}}
	run.Clients = []measure.Client{{Label: "go", Library: "amqp091-go", Version: "v1.16.0", Runtime: "go1.26"}}
	r := measure.NewResult(run, "flow", 1, 0)
	r.Whole = true
	r.Metrics = testMetrics()
	r.Parameters["messages"] = "1000"
	return measure.Recorded{Run: run, Results: map[string]measure.Result{"flow": r}}
}

// with adds a cell per value of the metric; the other metrics are 1.
func with(rec measure.Recorded, labels measure.Labels, metric string, values ...measure.Value) {
	r := rec.Results["flow"]
	for i, v := range values {
		c := measure.Cell{Labels: labels, Repeat: i + 1, Values: map[string]measure.Value{}}
		for name := range r.Metrics {
			c.Values[name] = measure.Int(1)
		}
		c.Values[metric] = v
		r.Cells = append(r.Cells, c)
		r.Planned++
	}
	rec.Results["flow"] = r
}

// fail makes a repeat of a case fail as a whole.
func fail(rec measure.Recorded, cell int, reason string) {
	c := &rec.Results["flow"].Cells[cell]
	c.Failure = &measure.Failure{Reason: reason}
	for name := range c.Values {
		c.Values[name] = measure.Missing(reason)
	}
}

func numbers(xs ...float64) []measure.Value {
	var out []measure.Value
	for _, x := range xs {
		out = append(out, measure.Float(x))
	}
	return out
}

var (
	slow = numbers(90, 92, 93, 95, 96, 98)     // median 94, the interval is the whole range
	fast = numbers(97, 99, 100, 101, 103, 104) // median 100.5; 2 of 36 pairs are the other way: p = 1/231
	near = numbers(93, 91, 97, 94, 95, 92)     // median 93.5
	onGo = measure.Labels{"broker": "debian:forky", "client": "go"}
	pika = measure.Labels{"broker": "debian:forky", "client": "pika"}
	rate = Selection{Metrics: []string{"rate"}}
)

// valid finds what no file could hold, so that tests don't show what can't be.
func valid(t *testing.T, runs ...measure.Recorded) {
	t.Helper()
	for _, rec := range runs {
		for _, r := range rec.Results {
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		if err := rec.Run.Validate(); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, f Format, p printable) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, f, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestShow(t *testing.T) {
	rec := recorded(1)
	with(rec, onGo, "rate", slow...)
	with(rec, pika, "rate", numbers(100, 101, 102, 103, 104, 200)...) // hinges 101 and 104: fences 96.5 and 108.5
	with(rec, measure.Labels{"broker": "debian:forky", "client": "slow"}, "rate", numbers(3, 1, 2)...)
	with(rec, measure.Labels{"broker": "debian:forky", "client": "broken"}, "rate", slow...)
	fail(rec, 16, "the broker\n\x1b[31mended\x1b[0m")
	rec.Results["flow"].Cells[16].Values["rate"] = measure.Missing("the cell failed") // the failure says why
	with(rec, measure.Labels{"broker": "debian:forky", "client": "deaf"}, "rate", append(numbers(1, 2), measure.Missing("wrk printed nothing"))...)
	with(rec, measure.Labels{"broker": "debian:forky", "client": "dumb"}, "rate", measure.Missing("wrk printed nothing"), measure.Missing("it was killed"), measure.Missing("it was killed"))
	with(rec, measure.Labels{"broker": "debian:forky", "client": "numb"}, "rate", measure.Missing("wrk printed nothing"))
	valid(t, rec)
	shown, err := Show(rec, rate)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, write(t, Text, shown), `
run 20261201T100000Z
  date     2026-12-01 10:00:00 UTC, 1m30s
  profile  standard
  machine  A CPU, 2 cores, 24 GiB, Debian, kernel 6.1, amd64, load 0.07
  tool     genreport 0.1.0 0123456789ab, go1.26
  broker   debian:forky: RabbitMQ 4.3.6, Erlang 29.1
  client   go: amqp091-go v1.16.0, go1.26
  drift    not known: the run has no control measurements

  flow  broker=debian:forky

    rate (1/s, higher is better)
    messages per second
      client       median      95 % interval       n  outliers
      go             94.0          90.0–98.0       6
      pika            102            100–200       6  repeat 6
      slow           2.00  1.00–3.00 (range)       3
      broken   failed [1]                     5 of 6
      deaf    missing [2]                     2 of 3
      dumb    missing [3]                     0 of 3
      numb    missing [2]                     0 of 1

  reasons
  [1] the broker [31mended[0m
  [2] wrk printed nothing
  [3] wrk printed nothing; it was killed
`)
	wantText(t, write(t, Markdown, shown), `
# run 20261201T100000Z

- date: 2026-12-01 10:00:00 UTC, 1m30s
- profile: standard
- machine: A CPU, 2 cores, 24`+"\u00a0"+`GiB, Debian, kernel 6.1, amd64, load 0.07
- tool: genreport 0.1.0 0123456789ab, go1.26
- broker: debian:forky: RabbitMQ 4.3.6, Erlang 29.1
- client: go: amqp091-go v1.16.0, go1.26
- drift: not known: the run has no control measurements

## flow  broker=debian:forky

### rate (1/s, higher is better)

messages per second

| client | median | 95 % interval | n | outliers |
| --- | ---: | ---: | ---: | --- |
| go | 94.0 | 90.0–98.0 | 6 |  |
| pika | 102 | 100–200 | 6 | repeat 6 |
| slow | 2.00 | 1.00–3.00 (range) | 3 |  |
| broken | failed \[1\] |  | 5 of 6 |  |
| deaf | missing \[2\] |  | 2 of 3 |  |
| dumb | missing \[3\] |  | 0 of 3 |  |
| numb | missing \[2\] |  | 0 of 1 |  |

## reasons

\[1\] the broker \[31mended\[0m\
\[2\] wrk printed nothing\
\[3\] wrk printed nothing; it was killed
`)
}

// What a program reads: numbers in base units, null with a reason where there
// is none.
func TestShowJSON(t *testing.T) {
	rec := recorded(1)
	with(rec, onGo, "rate", numbers(1, 2, 3, 4, 5, 60)...)
	with(rec, pika, "rate", numbers(3, 1)...)
	fail(rec, 7, "it broke")
	valid(t, rec)
	shown, err := Show(rec, rate)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Kind string
		Run  struct {
			ID    string
			Drift *float64
		}
		Experiments []struct {
			Name    string
			Metrics []struct {
				Name, Unit, Better string
				Rows               []struct {
					Labels   map[string]string
					State    string
					N        int
					Repeats  int
					Median   map[string]any
					Low      *float64
					High     *float64
					Spread   string
					Outliers []int
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(write(t, JSON, shown)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "run" || got.Run.ID != "20261201T100000Z" || got.Run.Drift != nil || got.Experiments[0].Name != "flow" {
		t.Errorf("%+v", got)
	}
	m := got.Experiments[0].Metrics[0]
	a, b := m.Rows[0], m.Rows[1]
	if m.Name != "rate" || m.Unit != "1/s" || m.Better != "higher" {
		t.Errorf("%+v", m)
	}
	if a.State != "measured" || a.N != 6 || a.Median["value"] != 3.5 || *a.Low != 1 || *a.High != 60 || a.Spread != "interval" || !slices.Equal(a.Outliers, []int{6}) || a.Labels["client"] != "go" {
		t.Errorf("%+v", a)
	}
	if b.State != "failed" || b.N != 1 || b.Repeats != 2 || b.Median["value"] != nil || b.Median["reason"] != "it broke" || b.Low != nil || b.Spread != "" {
		t.Errorf("%+v", b)
	}
}

func TestShowBound(t *testing.T) {
	rec := recorded(1)
	with(rec, onGo, "rate", slow[:3]...)
	with(rec, pika, "rate", slow[:2]...)
	with(rec, measure.Labels{"broker": "debian:forky", "client": "none"}, "rate", slow[:1]...)
	cpu := func(cell int, broker, clients, idle float64) {
		rec.Results["flow"].Cells[cell].CPU = &measure.CPU{Wall: 10, Cores: 2, Processes: 1, Clients: measure.Float(clients),
			Broker: measure.Float(broker), Idle: measure.Float(idle), Steal: measure.Int(0)}
	}
	// Of 20 s of core time: less than 2 s idle is the host; a client of 9 s or
	// more has used up its core. Shares 13/19.5, 14/19 and 15/20 of the busy time.
	cpu(0, 13, 6, 0.5)
	cpu(1, 14, 5, 1)
	cpu(2, 15, 5, 0)
	cpu(3, 4, 9.5, 6)
	cpu(4, 9.2, 4, 6)
	valid(t, rec)
	shown, err := Show(rec, rate)
	if err != nil {
		t.Fatal(err)
	}
	b := shown.Experiments[0].Bound
	if len(b) != 2 || b[0].Verdicts[measure.BoundHost] != 3 || *b[0].BrokerShare != 14./19 || b[1].Verdicts[measure.BoundClient] != 1 || b[1].Verdicts[measure.BoundBroker] != 1 {
		t.Errorf("%+v", b)
	}
	got := write(t, Text, shown)
	_, got, _ = strings.Cut(got, "    bound by\n")
	wantText(t, got, `
    what kept it from going faster, and the broker's part of the busy core time
      client  bound by            broker's share
      go      host                          74 %
      pika    client 1, broker 1            47 %
`) // pika: 4/14 and 9.2/14, in the middle 6.6/14
}

func TestShowDriftAndWarnings(t *testing.T) {
	rec := recorded(1)
	rec.Run.Ended = nil
	rec.Run.Warnings = []string{"the load was high"}
	rec.Run.Control = []measure.Control{{When: "first", Broker: "debian:forky", Rate: measure.Int(1000)}, {When: "last", Broker: "debian:forky", Rate: measure.Int(920)}}
	r := rec.Results["flow"]
	r.Planned = 4
	rec.Results["flow"] = r
	with(rec, onGo, "rate", slow[:3]...)
	shown, err := Show(rec, rate)
	if err != nil {
		t.Fatal(err)
	}
	got := write(t, Text, shown)
	for _, want := range []string{"10:00:00 UTC, not ended\n", "drift    8.0 % of the control, more than 5.0 %: the machine was not steady\n",
		"warning  the load was high\n", "this run is not complete: 3 of 7 cells\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	rec.Run.Control[1].Rate = measure.Int(1030)
	if shown, err = Show(rec, rate); err != nil || !strings.Contains(write(t, Text, shown), "drift    3.0 % of the control\n") {
		t.Errorf("%v\n%s", err, write(t, Text, shown))
	}
}

// A number that a float can't hold keeps its digits.
func TestShowExact(t *testing.T) {
	rec := recorded(1)
	big := measure.Int(9007199254740993) // 2^53 + 1
	with(rec, onGo, "opened", big, big, big)
	with(rec, pika, "opened", measure.Int(16), measure.Int(18), measure.Int(16), measure.Int(16), measure.Int(16), measure.Int(16))
	shown, err := Show(rec, Selection{Metrics: []string{"opened"}})
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(write(t, Text, shown), "    opened (exact)\n")
	wantText(t, got, `
    channels opened
      client                 median  95 % interval  n  outliers
      go      9,007,199,254,740,993      all equal  3
      pika                       16  16–18 (range)  6  repeat 2
`)
	if !strings.Contains(write(t, JSON, shown), `"value": 9007199254740993`) {
		t.Error("JSON lost a digit")
	}
}

func TestSelection(t *testing.T) {
	rec := recorded(1)
	with(rec, onGo, "rate", slow...)
	other := rec.Results["flow"]
	other.Experiment = "limit"
	other.Metrics = map[string]measure.Metric{"opened": testMetrics()["opened"]}
	rec.Results["limit"] = other
	tests := []struct {
		s    Selection
		want string
	}{
		{Selection{}, "flow/delay flow/opened flow/rate limit/opened"},
		{Selection{Experiments: []string{"f*"}}, "flow/delay flow/opened flow/rate"},
		{Selection{Experiments: []string{"limit", "flow"}, Metrics: []string{"opened"}}, "flow/opened limit/opened"},
		{Selection{Metrics: []string{"r*", "delay"}}, "flow/delay flow/rate"},
		{Selection{Experiments: []string{"x*"}}, `error: no experiment matches "x*"; there are flow, limit`},
		{Selection{Metrics: []string{"x"}}, `error: no metric matches "x"; there are delay, opened, rate`},
		{Selection{Experiments: []string{"limit"}, Metrics: []string{"rate"}}, `error: no metric matches "rate"; there are opened`},
		{Selection{Metrics: []string{"["}}, `error: metric pattern "[": syntax error in pattern`},
	}
	for _, tt := range tests {
		var got []string
		shown, err := Show(rec, tt.s)
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		for _, e := range shown.Experiments {
			for _, m := range e.Metrics {
				got = append(got, e.Name+"/"+m.Name)
			}
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%+v: %s, want %s", tt.s, text, tt.want)
		}
	}
}

// An experiment that has none of the chosen metrics has no tables at all.
func TestSelectionLeavesOut(t *testing.T) {
	a, b := recorded(1), recorded(2)
	for _, rec := range []measure.Recorded{a, b} {
		with(rec, onGo, "rate", slow...)
		with(rec, pika, "rate", fast...)
		limit := rec.Results["flow"]
		limit.Experiment, limit.Metrics = "limit", map[string]measure.Metric{"opened": testMetrics()["opened"]}
		rec.Results["limit"] = limit
	}
	shown, err := Show(a, rate)
	if err != nil || len(shown.Experiments) != 1 || strings.Contains(write(t, Text, shown), "limit") {
		t.Errorf("%+v, %v", shown, err)
	}
	runs, err := Runs(a, b, rate)
	if err != nil || len(runs.Experiments) != 1 || strings.Contains(write(t, Text, runs), "limit") {
		t.Errorf("%+v, %v", runs, err)
	}
	by, err := By(a, "client", rate)
	if err != nil || len(by.Experiments) != 1 || strings.Contains(write(t, Text, by), "limit") {
		t.Errorf("%+v, %v", by, err)
	}
}

// One case alone still says which it is.
func TestShowOneCase(t *testing.T) {
	rec := recorded(1)
	with(rec, onGo, "rate", slow...)
	shown, err := Show(rec, rate)
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(write(t, Text, shown), "    messages per second\n")
	wantText(t, got, `
      broker        client  median  95 % interval  n
      debian:forky  go        94.0      90.0–98.0  6
`)
}

func TestShowRunWithoutResults(t *testing.T) {
	rec := recorded(1)
	rec.Results = nil
	shown, err := Show(rec, Selection{})
	if err != nil || !strings.Contains(write(t, Text, shown), "The run has no results yet.") {
		t.Errorf("%+v, %v", shown, err)
	}
}

func TestCompareRuns(t *testing.T) {
	a, b := recorded(1), recorded(2)
	with(a, onGo, "rate", slow...)
	with(b, onGo, "rate", fast...)
	with(a, pika, "rate", slow...)
	with(b, pika, "rate", near[:5]...)
	for i, client := range []string{"few", "failed", "gone"} {
		l := measure.Labels{"broker": "debian:forky", "client": client}
		with(a, l, "rate", numbers(1, 2, 3)...)
		if i < 2 {
			with(b, l, "rate", numbers(4, 5, 6)...)
		}
	}
	fail(b, 14, "the broker ended")
	valid(t, a, b)
	c, err := Runs(a, b, rate)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Comparable || c.Unmet() != "" || c.Compared != 3 || c.Tested != 2 {
		t.Errorf("%+v", c)
	}
	wantText(t, write(t, Text, c), `
run 20261202T100000Z compared with run 20261201T100000Z
  20261201T100000Z  standard, genreport 0.1.0 0123456789ab, go1.26
                    A CPU, 2 cores, 24 GiB, Debian, kernel 6.1, amd64, load 0.07
                    debian:forky: RabbitMQ 4.3.6, Erlang 29.1
                    drift: not known: the run has no control measurements
  20261202T100000Z  standard, genreport 0.1.0 0123456789ab, go1.26
                    A CPU, 2 cores, 24 GiB, Debian, kernel 6.1, amd64, load 0.07
                    debian:forky: RabbitMQ 4.3.6, Erlang 29.1
                    drift: not known: the run has no control measurements
  control           20261201T100000Z and 20261202T100000Z without control measurements, so nothing says how far apart the machines' speeds were

  flow  broker=debian:forky

    rate (1/s, higher is better)
    messages per second
      client  20261201T100000Z  20261202T100000Z             ratio  p                    n
      go          94.0 ± 4.3 %       100 ± 3.5 %  1.07 [1.03–1.12]  better p=0.004       6
      pika        94.0 ± 4.3 %  94.0 (91.0–97.0)              1.00  ~ p=1.000          6+5
      few     2.00 (1.00–3.00)  5.00 (4.00–6.00)              2.50  ~ too few samples    3
      failed  2.00 (1.00–3.00)        failed [1]                                       3+2
      gone    2.00 (1.00–3.00)      not measured                                       3+0

  reasons
  [1] the broker ended

  how to read this
  ± (or […]) is the 95 % interval of the median, by its farther end.
  (…) is the range from the smallest to the largest sample: below 6 samples there is no interval.
  ratio is to the first column, with its 95 % bootstrap interval; ~ may be noise: p of the Mann-Whitney U test is not below 0.05.
  † has outliers (1.5 times the interquartile range); they count.
  If nothing differed, 0.1 of these 2 tests would find a difference all the same, on average.
`)
	md := write(t, Markdown, c)
	for _, want := range []string{"# run 20261202T100000Z compared with run 20261201T100000Z\n", "- 20261202T100000Z: standard, genreport 0.1.0 0123456789ab, go1.26\n  - A CPU, 2 cores", "| client | 20261201T100000Z | 20261202T100000Z | ratio | p | n |\n| --- | ---: | ---: | ---: | --- | ---: |\n",
		"| pika | 94.0 ± 4.3\u00a0% | 94.0 (91.0–97.0) | 1.00 | \\~ p=1.000 | 6+5 |\n"} {
		if !strings.Contains(md, want) {
			t.Errorf("%q is not in\n%s", want, md)
		}
	}
}

// Each way a comparison can come out.
func TestVerdicts(t *testing.T) {
	tests := []struct {
		name, metric string
		a, b         []measure.Value
		want         Verdict
		text         string
	}{
		{"more, higher is better", "rate", slow, fast, Better, "better p=0.004"},
		{"less, higher is better", "rate", fast, slow, Worse, "worse p=0.004"},
		{"more, lower is better", "delay", slow, fast, Worse, "worse p=0.004"},
		{"less, lower is better", "delay", fast, slow, Better, "better p=0.004"},
		{"noise", "rate", slow, near, Noise, "~ p=0.848"},
		{"three each", "rate", slow[:3], fast[3:], TooFew, "~ too few samples"},
		{"four each", "rate", slow[:4], fast[2:], Better, "better p=0.029"},
		{"all equal", "rate", numbers(7, 7, 7, 7), numbers(7, 7, 7, 7), Noise, "~ p=1.000"},
		{"ten each", "rate", numbers(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), numbers(11, 12, 13, 14, 15, 16, 17, 18, 19, 20), Better, "better p<0.001"},
		{"exact, equal", "opened", numbers(16, 16), numbers(16, 16), Equal, "="},
		{"exact, one sample", "opened", numbers(16), numbers(17), Differs, "≠ differs"},
		{"exact, differs by what a float can't hold", "opened", []measure.Value{measure.Int(9007199254740993)}, []measure.Value{measure.Int(9007199254740992)}, Differs, "≠ differs"},
		{"exact, repeats vary", "opened", numbers(16, 16), numbers(16, 17), Varies, "repeats vary"},
	}
	for _, tt := range tests {
		a, b := recorded(1), recorded(2)
		with(a, onGo, tt.metric, tt.a...)
		with(b, onGo, tt.metric, tt.b...)
		valid(t, a, b)
		c, err := Runs(a, b, Selection{Metrics: []string{tt.metric}})
		if err != nil {
			t.Fatal(err)
		}
		change := c.Experiments[0].Metrics[0].Rows[0].Cells[1].Change
		if change == nil || change.Verdict != tt.want || change.verdict() != tt.text {
			t.Errorf("%s: %+v %q, want %s %q", tt.name, change, change.verdict(), tt.want, tt.text)
			continue
		}
		if exact := tt.metric == "opened"; exact != (change.P == nil) || exact && change.Low != nil {
			t.Errorf("%s: %+v", tt.name, change)
		}
	}
}

// p is never rounded to the other side of 0.05.
func TestPText(t *testing.T) {
	for p, want := range map[float64]string{0.0494: "0.049", 0.04951: "0.0495", 0.049999: "0.0499", 0.05: "0.050", 0.0504: "0.050", 0.3: "0.300"} {
		if got := pText(p); got != want {
			t.Errorf("%v: %s, want %s", p, got, want)
		}
	}
}

func TestCompactAndRatio(t *testing.T) {
	for _, tt := range []struct {
		values []measure.Value
		want   string
	}{
		{numbers(0, 0, 0, 0, 1, 2), "0 [0–2.00]"},         // a share of 0
		{numbers(-1, 1, 2, 3, 4, 5), "2.50 [−1.00–5.00]"}, // across 0
		{numbers(-6, -5, -4, -3, -2, -1), "−3.50 [−6.00–−1.00]"},
		{numbers(1, 2, 3, 4, 5, 6), "3.50 ± 71 %"},             // 2.5/3.5
		{numbers(1, 2, 3, 4, 5, 60), "3.50 [1.00–60.0] †"},     // more than twice the median
		{numbers(100, 100, 100, 100, 100, 100), "100 ± 0.0 %"}, //
		{numbers(7), "7.00"}, // nothing is known of its spread
		{numbers(1000, 1010, 1020, 1030, 1040), "1,020 (1,000–1,040)"}, // five: no interval
	} {
		rec := recorded(1)
		with(rec, onGo, "rate", tt.values...)
		m := Metric{"rate", testMetrics()["rate"]}
		c := groups(rec.Results["flow"])[0].cell(m.Metric, "rate")
		if got := plain(m.compact(c, &footnotes{})); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, got, tt.want)
		}
	}
	var none *Change
	if none.ratio() != "" || none.verdict() != "" || (&Change{}).ratio() != "" {
		t.Error("what was not compared has a ratio")
	}
}

func TestNotComparable(t *testing.T) {
	tests := []struct {
		name   string
		change func(*measure.Recorded)
		want   string // "" where the runs stay comparable
	}{
		{"nothing", func(*measure.Recorded) {}, ""},
		{"CPU", func(r *measure.Recorded) { r.Run.Machine.CPU = "B CPU" }, "CPU A CPU and B CPU"},
		{"cores", func(r *measure.Recorded) { r.Run.Machine.Cores = 4 }, "cores 2 and 4"},
		{"memory", func(r *measure.Recorded) { r.Run.Machine.MemoryBytes = 12 << 30 }, "memory 24.0\u00a0GiB and 12.0\u00a0GiB"},
		{"memory, half a percent", func(r *measure.Recorded) { r.Run.Machine.MemoryBytes = 24 << 30 * 199 / 200 }, ""},
		{"memory, two percent", func(r *measure.Recorded) { r.Run.Machine.MemoryBytes = 24 << 30 * 98 / 100 }, "memory 24.0\u00a0GiB and 23.5\u00a0GiB"},
		{"system", func(r *measure.Recorded) { r.Run.Machine.OS = "Ubuntu" }, "system Debian and Ubuntu"},
		{"kernel", func(r *measure.Recorded) { r.Run.Machine.Kernel = "6.2" }, "kernel 6.1 and 6.2"},
		{"architecture", func(r *measure.Recorded) { r.Run.Machine.Arch = "arm64" }, "architecture amd64 and arm64"},
		{"virtualisation", func(r *measure.Recorded) { r.Run.Machine.Virtualisation = "virtual machine" }, "virtualisation none and virtual machine"},
		{"governor of one", func(r *measure.Recorded) { r.Run.Machine.Governor = "powersave" }, ""},
		{"load", func(r *measure.Recorded) { r.Run.Machine.Load1 = 9 }, ""},
		{"profile", func(r *measure.Recorded) { r.Run.Profile = "full" }, "profile standard and full"},
		{"two", func(r *measure.Recorded) { r.Run.Profile = "full"; r.Run.Machine.Cores = 8 }, "cores 2 and 8; profile standard and full"},
		{"method", func(r *measure.Recorded) { f := r.Results["flow"]; f.Method = 2; r.Results["flow"] = f }, "flow: method 1 and 2"},
		{"parameter", func(r *measure.Recorded) { r.Results["flow"].Parameters["messages"] = "9" }, "flow: parameter messages 1000 and 9"},
		{"parameter of one", func(r *measure.Recorded) { r.Results["flow"].Parameters["size"] = "9" }, "flow: parameter size not set and 9"},
		{"unit", func(r *measure.Recorded) {
			r.Results["flow"].Metrics["rate"] = measure.Metric{Unit: measure.Seconds, Better: measure.Higher}
		}, "flow: metric rate: unit 1/s, exact false and unit s, exact false"},
	}
	for _, tt := range tests {
		a, b := recorded(1), recorded(2)
		with(a, onGo, "rate", slow...)
		with(b, onGo, "rate", fast...)
		tt.change(&b)
		c, err := Runs(a, b, rate)
		if err != nil {
			t.Fatal(err)
		}
		got, verdict := c.Unmet(), Differs
		if second := c.Experiments[0].Metrics[0].Rows[0].Cells[1]; tt.name == "unit" {
			if second.Change != nil || second.State != Missing || second.Median.Reason() != "here the metric has unit s, exact false" {
				t.Errorf("%+v", second)
			}
		} else {
			verdict = second.Change.Verdict
		}
		if tt.want == "" {
			if got != "" || verdict != Better {
				t.Errorf("%s: %q, %s", tt.name, got, verdict)
			}
			continue
		}
		// The table is there, and does not call it better.
		if got != "not comparable: "+tt.want || verdict != Differs {
			t.Errorf("%s: %q and %s, want %q", tt.name, got, verdict, tt.want)
		}
		if text := write(t, Text, c); !strings.Contains(text, "not comparable: ") || !strings.Contains(text, "94.0") {
			t.Errorf("%s:\n%s", tt.name, text)
		}
	}
	a, b := recorded(1), recorded(2)
	with(a, onGo, "rate", slow...)
	with(b, onGo, "rate", fast...)
	a.Run.Machine.Governor, b.Run.Machine.Governor = "performance", "powersave"
	if c, err := Runs(a, b, rate); err != nil || c.Unmet() != "not comparable: governor performance and powersave" {
		t.Errorf("%q, %v", c.Unmet(), err)
	}
}

func TestControl(t *testing.T) {
	control := func(rates ...int64) []measure.Control {
		out := []measure.Control{{When: "first", Broker: "debian:forky", Rate: measure.Missing("it broke")}}
		for _, r := range rates {
			out = append(out, measure.Control{Broker: "debian:forky", Rate: measure.Int(r)})
		}
		return out
	}
	const without = " without control measurements, so nothing says how far apart the machines' speeds were"
	tests := []struct {
		name     string
		a, b     []measure.Control
		rabbitmq string
		want     string
	}{
		{"none", nil, nil, "4.3.6", "20261201T100000Z and 20261202T100000Z" + without},
		{"one", control(1000), nil, "4.3.6", "20261202T100000Z" + without},
		{"failed", control(), control(1000), "4.3.6", "the runs have no broker's control in common, so nothing says how far apart the machines' speeds were"},
		{"faster", control(990, 1000, 1010), control(1030, 1020, 1025), "4.3.6", "debian:forky: 1,000 and 1,020 messages a second, the second 2.5 % faster"},
		{"slower", control(1000), control(900), "4.3.6", "debian:forky: 1,000 and 900 messages a second, the second 10 % slower, which is in every rate and time below"},
		{"equal", control(1000), control(990, 1010), "4.3.6", "debian:forky: 1,000 and 1,000 messages a second, equally fast"},
		{"another version", control(1000), control(1020), "4.3.7", "debian:forky: 1,000 and 1,020 messages a second, the second 2.0 % faster (of another broker version, so not the machine's speed alone)"},
	}
	for _, tt := range tests {
		a, b := recorded(1), recorded(2)
		a.Run.Control, b.Run.Control = tt.a, tt.b
		b.Run.Brokers[0].RabbitMQ = tt.rabbitmq
		with(a, onGo, "rate", slow...)
		with(b, onGo, "rate", fast...)
		valid(t, a, b)
		c, err := Runs(a, b, rate)
		if err != nil {
			t.Fatal(err)
		}
		if got := plain(controlText(c.Control, c.Runs)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What differs and may be what the runs are compared for is told.
func TestNotes(t *testing.T) {
	a, b := recorded(1), recorded(2)
	a.Run.Brokers[0].Settings = map[string]string{"heartbeat": "0"}
	b.Run.Brokers[0].RabbitMQ, b.Run.Brokers[0].Erlang, b.Run.Brokers[0].Settings = "4.3.7", "29.2", map[string]string{"heartbeat": "60"}
	b.Run.Clients[0].Version = "v1.17.0"
	b.Run.Ended = nil
	with(a, onGo, "rate", slow...)
	with(b, onGo, "rate", fast...)
	r := b.Results["flow"]
	r.Planned = 9
	b.Results["flow"] = r
	extra := a.Results["flow"]
	extra.Experiment = "limit"
	a.Results["limit"] = extra
	c, err := Runs(a, b, rate)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"debian:forky: RabbitMQ 4.3.6 and 4.3.7", "debian:forky: Erlang 29.1 and 29.2", "debian:forky: heartbeat 0 and 60",
		"client go: amqp091-go v1.16.0 and v1.17.0", "run 20261202T100000Z was cut off, or goes on",
		"flow in 20261202T100000Z is not complete: 6 of 9 cells", "limit was measured in 20261201T100000Z alone"}
	if !slices.Equal(c.Notes, want) || !c.Comparable {
		t.Errorf("%q, want %q", c.Notes, want)
	}
	if text := write(t, Text, c); !strings.Contains(text, "note              limit was measured in 20261201T100000Z alone\n") {
		t.Error(text)
	}
}

func TestRunsOfOneID(t *testing.T) {
	a, b := recorded(1), recorded(1)
	with(a, onGo, "rate", slow...)
	with(b, onGo, "rate", fast...)
	c, err := Runs(a, b, rate)
	if err != nil || !slices.Equal(c.Experiments[0].Columns, []string{"20261201T100000Z (1)", "20261201T100000Z (2)"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// Nothing that both have: the tables say so, and so does Unmet.
func TestNothingInCommon(t *testing.T) {
	a, b := recorded(1), recorded(2)
	with(a, onGo, "rate", slow...)
	with(b, pika, "rate", fast...)
	c, err := Runs(a, b, rate)
	if err != nil || c.Unmet() != "nothing can be compared: no case has numbers on both sides" {
		t.Errorf("%q, %v", c.Unmet(), err)
	}
	if n := strings.Count(write(t, Text, c), "not measured"); n != 2 {
		t.Errorf("%d cells not measured\n%s", n, write(t, Text, c))
	}
}

func TestBy(t *testing.T) {
	rec := recorded(1)
	for i, broker := range []string{"debian:trixie", "debian:forky", "debian:bookworm"} {
		for _, channels := range []string{"1", "4"} {
			values := slow
			if i == 1 {
				values = fast
			}
			with(rec, measure.Labels{"broker": broker, "channels": channels}, "rate", values...)
		}
	}
	valid(t, rec)
	c, err := By(rec, "broker", rate)
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, Text, c)
	_, got, _ := strings.Cut(text, "    messages per second\n")
	got, _, _ = strings.Cut(got, "\n\n")
	wantText(t, got, `
      channels  debian:trixie  debian:forky             ratio  p               n  debian:bookworm              ratio  p          n
      1          94.0 ± 4.3 %   100 ± 3.5 %  1.07 [1.03–1.12]  better p=0.004  6     94.0 ± 4.3 %  1.00 [0.958–1.04]  ~ p=1.000  6
      4          94.0 ± 4.3 %   100 ± 3.5 %  1.07 [1.03–1.12]  better p=0.004  6     94.0 ± 4.3 %  1.00 [0.958–1.04]  ~ p=1.000  6`)
	if !strings.HasPrefix(text, "run 20261201T100000Z, by broker\n") || strings.Contains(text, "\n  control") {
		t.Error(text)
	}

	for _, tt := range []struct {
		label, want string
	}{
		{"client", `run 20261201T100000Z has no label "client"; there are broker, channels`},
		{"channels", ""},
	} {
		if _, err := By(rec, tt.label, rate); fmt.Sprint(err) != tt.want && (tt.want != "" || err != nil) {
			t.Errorf("%s: %v, want %q", tt.label, err, tt.want)
		}
	}
}

func TestByRefusesOneValue(t *testing.T) {
	rec := recorded(1)
	with(rec, onGo, "rate", slow...)
	with(rec, pika, "rate", fast...)
	_, err := By(rec, "broker", rate)
	want := "run 20261201T100000Z has one broker in each experiment (debian:forky), so there is nothing to compare: give a second run, or --by another label (client)"
	if fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	// Another experiment that has two is compared, and this one is told.
	other := rec.Results["flow"]
	other.Experiment, other.Cells = "limit", slices.Clone(other.Cells)
	for i := range other.Cells[6:] {
		other.Cells[6+i].Labels = measure.Labels{"broker": "debian:trixie", "client": "go"}
	}
	rec.Results["limit"] = other
	c, err := By(rec, "broker", rate)
	if err != nil || len(c.Experiments) != 1 || c.Experiments[0].Name != "limit" || !slices.Contains(c.Notes, "flow has broker=debian:forky alone") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestCompareJSON(t *testing.T) {
	a, b := recorded(1), recorded(2)
	with(a, onGo, "rate", slow...)
	with(b, onGo, "rate", fast...)
	b.Run.Machine.Cores = 4
	c, err := Runs(a, b, rate)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Kind, By    string
		Comparable  bool
		Differences []string
		Runs        []struct{ ID string }
		Experiments []struct {
			Columns []string
			Metrics []struct {
				Rows []struct {
					Cells []struct {
						N      int
						Median struct{ Value float64 }
						Change *struct {
							Ratio, P  float64
							RatioLow  float64 `json:"ratio_low"`
							RatioHigh float64 `json:"ratio_high"`
							Verdict   string
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(write(t, JSON, c)), &got); err != nil {
		t.Fatal(err)
	}
	cells := got.Experiments[0].Metrics[0].Rows[0].Cells
	if got.Kind != "comparison" || got.By != "run" || got.Comparable || !slices.Equal(got.Differences, []string{"cores 2 and 4"}) || len(got.Runs) != 2 || len(cells) != 2 {
		t.Fatalf("%+v", got)
	}
	change := cells[1].Change
	if cells[0].Change != nil || cells[0].Median.Value != 94 || cells[1].Median.Value != 100.5 || change.Ratio != 100.5/94 || change.Verdict != "differs" ||
		change.P < 0.00432 || change.P > 0.00434 || change.RatioLow < 1.02 || change.RatioHigh > 1.13 {
		t.Errorf("%+v %+v", cells, change)
	}
}

// Markdown shows what it is given, whatever it is given.
func TestEscape(t *testing.T) {
	if got, want := escape("a|b *c* _d_ <e> [f](g) `h` \\ ~i~ #j &amp; k\nl"), "a\\|b \\*c\\* \\_d\\_ \\<e\\> \\[f\\](g) \\`h\\` \\\\ \\~i\\~ \\#j \\&amp; k l"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
