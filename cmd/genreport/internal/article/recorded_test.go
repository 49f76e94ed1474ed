package article

import (
	"strings"
	"testing"
)

const (
	recordedDemo = `demos:
  d:
    objects:
      app: {kind: client, at: [1, 1]}
    recorded:
      sent: {experiment: channels, metric: sent, where: {client: go, channels: '1000'}, series: broker, zero: before}
    steps:
      - id: one
        recorded: {show: sent, at: 0}
      - id: two
        recorded: {show: sent, at: highest}
      - id: three
        recorded: {show: sent, at: -1}
`
	recordedBody = "```demo d\ntitle: T\nnames: {app: App}\nrecorded: {sent: {name: messages sent, zero: it starts}}\nsteps:\n" +
		"  one: {title: A, caption: \"${recorded/value broker=current} at ${recorded/second broker=current}.\"}\n" +
		"  two: {title: B, caption: \"${recorded/value broker=before}, ${recorded/second broker=before}.\"}\n" +
		"  three: {title: C, caption: \"${recorded/value broker=current}\"}\n```\n"
)

// In the first repeat the second s, counted from 0, sent 1000s + 1 messages, and
// nobody knows of the second 2; zero is at 3 s. The last second is not a whole one.
func TestRecorded(t *testing.T) {
	p, err := twoBrokersPage(t, recordedBody, recordedDemo)
	if err != nil {
		t.Fatal(err)
	}
	steps := p.Blocks[0].Demo.Steps
	for i, want := range []struct{ caption, values string }{
		{"3,001 at 0 s.", "4.9.9 3,001 at 0 s, 4.10.1 3,001 at 0 s"},
		{"4,001, 1 s.", "4.9.9 4,001 at 1 s, 4.10.1 6,001 at 3 s"},
		{"not measured (no answer)", "4.9.9 not measured (no answer), 4.10.1 not measured (no answer)"},
	} {
		var values []string
		for _, v := range steps[i].Recorded.Values {
			values = append(values, v.Name+" "+plainOf(v.Value)+v.At)
		}
		if got := plainOf(steps[i].Caption); got != want.caption || strings.Join(values, ", ") != want.values {
			t.Errorf("step %d says %q and shows %q", i+1, got, values)
		}
	}
	c := steps[1].Recorded.Chart
	if c.From != -3 || c.To != 3 || c.Top != 6001 || c.TopText != "6,001" || c.Zero != "it starts" || c.FromText != "−3 s" || c.Title != "messages sent" {
		t.Errorf("%+v", c)
	}
	if len(c.Lines) != 2 || len(c.Lines[0].Points) != 5 || len(c.Lines[1].Points) != 7 || c.Lines[1].Points[2].Value != nil || *c.Lines[0].At.Value != 4001 {
		t.Errorf("%+v", c.Lines)
	}
	if len(p.Evidence) != 2 {
		t.Errorf("what was recorded leads to %d cases", len(p.Evidence))
	}
}

func TestRecordedErrors(t *testing.T) {
	for name, tt := range map[string]struct{ body, demo, want string }{
		"experiment": {recordedBody, strings.Replace(recordedDemo, "experiment: channels", "experiment: chanels", 1), `unknown experiment "chanels"; did you mean "channels"?`},
		"series":     {recordedBody, strings.Replace(recordedDemo, "metric: sent", "metric: snet", 1), `unknown series "snet"; did you mean "sent"?`},
		"parameter":  {recordedBody, strings.Replace(recordedDemo, "zero: before", "zero: befor", 1), `a.yaml:9:111: unknown parameter "befor"; did you mean "before"?`},
		"shown":      {recordedBody, strings.Replace(recordedDemo, "show: sent, at: 0", "show: set, at: 0", 1), `a.yaml:12:26: unknown recorded series "set"; did you mean "sent"?`},
		"moment":     {recordedBody, strings.Replace(recordedDemo, "at: highest", "at: higest", 1), `a.yaml:14:`},
		"name":       {strings.Replace(recordedBody, "name: messages sent, ", "", 1), recordedDemo, "recorded series sent has no name"},
		"line":       {strings.Replace(recordedBody, "second broker=before", "second broker=befor", 1), recordedDemo, `unknown line "befor"; did you mean "before"?`},
		"elsewhere":  {recordedBody + "\n${recorded/value}\n", recordedDemo, "recorded is for captions of a demonstration's steps"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := twoBrokersPage(t, tt.body, tt.demo); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
