package article

import (
	"html/template"
	"math"
	"slices"
	"strconv"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
	"genreport/measure/stats"
)

// What stands behind the numbers of a case: who ran out of processor time, how
// many repeats there are, and whether the messages add up. Runs that were
// measured before any of it was recorded have none.

// Limits is what kept the repeats of a case from going faster.
type Limits struct {
	// Bounds are the verdicts, those of most repeats first; more than one means
	// that the repeats don't agree, none that nothing was recorded.
	Bounds []Bound
	// Low and High are the least and the largest share of the machine's busy
	// core time that the broker had, 0…1. Share is false where no repeat tells.
	Low, High float64
	Share     bool
}

// Bound is a verdict and how many repeats have it.
type Bound struct {
	By      measure.Bound
	Repeats int
}

// limits are those of the repeats that gave numbers.
func (g group) limits() Limits {
	var l Limits
	recorded := false
	for _, c := range g.cells {
		if c.Failure != nil {
			continue
		}
		by := measure.BoundUnknown
		if c.CPU != nil {
			recorded = true
			by = c.CPU.Bound()
			if share, ok := c.CPU.BrokerShare(); ok {
				if !l.Share {
					l.Low, l.High, l.Share = share, share, true
				}
				l.Low, l.High = min(l.Low, share), max(l.High, share)
			}
		}
		i := slices.IndexFunc(l.Bounds, func(b Bound) bool { return b.By == by })
		if i < 0 {
			i = len(l.Bounds)
			l.Bounds = append(l.Bounds, Bound{By: by})
		}
		l.Bounds[i].Repeats++
	}
	if !recorded {
		return Limits{}
	}
	slices.SortStableFunc(l.Bounds, func(a, b Bound) int { return b.Repeats - a.Repeats })
	return l
}

// clientBound reports whether the clients held the case back, in all its
// repeats or in some: near the threshold repeats fall on both sides of it, and
// a reader is better warned once too often.
func (l Limits) clientBound() bool {
	return slices.ContainsFunc(l.Bounds, func(b Bound) bool { return b.By == measure.BoundClient })
}

// marked reports whether a number of the metric carries the mark.
func (g group) marked(m measure.Metric) bool {
	return m.Unit == measure.PerSecond && g.limits().clientBound()
}

// clientBoundMark stands after a number that is the clients' rather than the
// broker's. It leads to the evidence; what it means is in the title for those
// who see it and in words for those who hear it.
const clientBoundMark = "†"

func clientBoundWords(lang string) (short, long string) {
	if lang == "zh" {
		return "（受限于客户端）", "受限于客户端：压测客户端用满了自己的核，broker 也许还能更快"
	}
	return " (client-bound)", "client-bound: the load clients used up their cores, the broker may do more"
}

func markHTML(lang, anchor string) template.HTML {
	short, long := clientBoundWords(lang)
	return template.HTML(`<span class="mark"><a href="#` + template.HTMLEscapeString(anchor) + `"><span aria-hidden="true" title="` + long + `">` + clientBoundMark +
		`</span><span class="unseen">` + short + `</span></a></span>`)
}

// intervalRepeats is the least number of samples that bound a median with 95 %
// confidence; see package stats.
const intervalRepeats = 6

// ruleFacts are the thresholds by which measurements are judged, so that texts
// need not repeat them.
func ruleFacts() map[string]string {
	share := func(x float64) string { return strconv.FormatFloat(100*x, 'f', -1, 64) + "%" }
	return map[string]string{
		"host_idle":        share(measure.HostIdleShare),
		"host_steal":       share(measure.HostStealShare),
		"busy":             share(measure.BusyShare),
		"drift":            share(measure.DriftLimit),
		"confidence":       share(stats.Confidence),
		"interval_repeats": strconv.Itoa(intervalRepeats),
	}
}

// Certainty is how probable it is that the true median lies between the
// smallest and the largest of n samples: each of the samples is below it or
// above it with the same probability, and they must not be all on one side.
func Certainty(n int) float64 {
	if n < 1 {
		return 0
	}
	return 1 - math.Pow(2, float64(1-n))
}

// tooFew reports whether the case has too few repeats to claim an interval.
// Counts without noise need none.
func (g group) tooFew(metrics map[string]measure.Metric) bool {
	noisy := false
	for _, m := range metrics {
		noisy = noisy || !m.Exact
	}
	return noisy && len(g.cells) < intervalRepeats
}

// FailedRepeat is a repeat that has no numbers.
type FailedRepeat struct {
	Repeat int
	Reason string
	Counts []Count // of its messages, where they were counted
}

// Count is how many messages had a fate, named as the result files do: "sent".
type Count struct{ Name, Value string }

func (g group) failed() []FailedRepeat {
	var out []FailedRepeat
	for _, c := range g.cells {
		if c.Failure != nil {
			out = append(out, FailedRepeat{Repeat: c.Repeat, Reason: c.Failure.Reason, Counts: counts(c.Integrity)})
		}
	}
	return out
}

func counts(i *measure.Integrity) []Count {
	if i == nil {
		return nil
	}
	out := []Count{{"sent", number.Exact(i.Sent)}}
	for _, c := range fates(*i) {
		if n, ok := c.value.Int64(); ok {
			out = append(out, Count{c.name, number.Exact(n)})
		}
	}
	return out
}

type fate struct {
	name  string
	value measure.Value
}

func fates(i measure.Integrity) []fate {
	return []fate{{"acked", i.Acked}, {"nacked", i.Nacked}, {"unconfirmed", i.Unconfirmed}, {"returned", i.Returned}, {"enqueued", i.Enqueued},
		{"consumed", i.Consumed}, {"left", i.Left}, {"lost", i.Lost}, {"duplicated", i.Duplicated}, {"out_of_order", i.OutOfOrder}}
}

// Added says of how many repeats the messages were counted and add up, and what
// became of them that nobody wants: findings, not errors.
type Added struct {
	Repeats int
	Counts  []Count // lost, duplicated, out of order; only what was counted
}

func (g group) added() Added {
	var a Added
	sums := map[string]int64{}
	counted := map[string]bool{}
	for _, c := range g.cells {
		if c.Integrity == nil || c.Failure != nil {
			continue
		}
		a.Repeats++
		for _, f := range fates(*c.Integrity) {
			if n, ok := f.value.Int64(); ok {
				sums[f.name] += n
				counted[f.name] = true
			}
		}
	}
	for _, name := range []string{"lost", "duplicated", "out_of_order"} {
		if counted[name] {
			a.Counts = append(a.Counts, Count{name, number.Exact(sums[name])})
		}
	}
	return a
}
