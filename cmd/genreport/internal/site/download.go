package site

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"html"
	"slices"
	"strconv"
	"strings"

	"genreport/cmd/genreport/internal/article"
	"genreport/measure"
)

// The files of a figure. Their words are the result files': the same in every language, and in ASCII, which every spreadsheet reads
// without being told the encoding.

// figureCSV is a row per point, or per second, in base units.
func figureCSV(n article.Numbers) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true // as RFC 4180 has it
	unit := func(name string) string {
		if n.Unit == "" || n.Unit == measure.Count {
			return name
		}
		return name + " (" + string(n.Unit) + ")"
	}
	metric := n.Metric
	if n.Per != "" {
		metric += " per " + n.Per
	}
	if n.Timed() {
		rows := [][]string{{plainCell(n.Series), "time (s)", unit(metric), "missing"}}
		for _, p := range n.Points {
			rows = append(rows, []string{plainCell(p.Series), p.X, valueText(p.Value), plainCell(p.Value.Reason())})
		}
		err := w.WriteAll(rows)
		return out.Bytes(), err
	}
	repeats := 0
	for _, p := range n.Points {
		repeats = max(repeats, len(p.Samples))
	}
	varying := []string{n.X}
	if n.Series != n.X {
		varying = append(varying, n.Series)
	}
	head := slices.Clone(varying)
	for _, what := range []string{metric + " median", "smallest", "largest", "95% from", "95% to"} {
		head = append(head, unit(what))
	}
	head = append(head, "n")
	for i := range repeats {
		head = append(head, unit("sample "+strconv.Itoa(i+1)))
	}
	head = append(head, "bound by", "missing")
	rows := [][]string{head}
	for _, p := range n.Points {
		row := []string{plainCell(p.X)}
		if n.Series != n.X {
			row = append(row, plainCell(p.Series))
		}
		row = append(row, valueText(p.Value), optional(p.Low), optional(p.High))
		if p.Interval {
			row = append(row, float(p.From), float(p.To))
		} else {
			row = append(row, "", "")
		}
		row = append(row, strconv.Itoa(sampled(p)))
		for i := range repeats {
			text := ""
			if i < len(p.Samples) {
				text = valueText(p.Samples[i])
			}
			row = append(row, text)
		}
		var bound []string
		for _, by := range p.Bound {
			bound = append(bound, string(by))
		}
		rows = append(rows, append(row, plainCell(strings.Join(bound, "; ")), plainCell(p.Value.Reason())))
	}
	err := w.WriteAll(rows)
	return out.Bytes(), err
}

// plainCell is text that a spreadsheet does not take for a formula.
func plainCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return "'" + s
		}
	}
	return s
}

func float(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func optional(x *float64) string {
	if x == nil {
		return ""
	}
	return float(*x)
}

// valueText has all digits of a whole number.
func valueText(v measure.Value) string {
	if !v.OK() {
		return ""
	}
	if n, ok := v.Int64(); ok {
		return strconv.FormatInt(n, 10)
	}
	return float(v.Float64())
}

// sampled is how many repeats gave a number.
func sampled(p article.NumberPoint) int {
	n := 0
	for _, v := range p.Samples {
		if v.OK() {
			n++
		}
	}
	return n
}

// figureFile is the JSON file of a figure.
type figureFile struct {
	Format      int           `json:"format"`
	Figure      string        `json:"figure"`
	Title       string        `json:"title"`
	Runs        []string      `json:"runs"`
	Experiment  string        `json:"experiment"`
	Metric      string        `json:"metric"`
	Description string        `json:"description,omitempty"`
	Unit        measure.Unit  `json:"unit"`
	Per         string        `json:"per,omitempty"` // numbers are divided by this label
	X           string        `json:"x"`             // a label, or "time_s"
	Series      string        `json:"series"`        // a label
	Command     string        `json:"command"`
	Points      []figurePoint `json:"points,omitempty"`
	Lines       []figureLine  `json:"lines,omitempty"` // over time
}

type figurePoint struct {
	Labels  measure.Labels  `json:"labels"`
	Median  *json.Number    `json:"median"` // null: see missing
	Missing string          `json:"missing,omitempty"`
	Low     *float64        `json:"smallest,omitempty"`
	High    *float64        `json:"largest,omitempty"`
	Between []float64       `json:"interval_95,omitempty"` // of the median
	N       int             `json:"n"`
	Samples []*json.Number  `json:"samples"` // null: that repeat gave none
	Bound   []measure.Bound `json:"bound_by,omitempty"`
}

// figureLine is one repeat over time. A value that is null is missing, for the reason at its second.
type figureLine struct {
	Labels  measure.Labels    `json:"labels"`
	Time    []json.Number     `json:"time_s"`
	Values  []*json.Number    `json:"values"`
	Missing map[string]string `json:"missing,omitempty"`
}

func figureJSON(in article.Figure) ([]byte, error) {
	n := in.Numbers
	out := figureFile{Format: 1, Figure: in.Name, Title: html.UnescapeString(plain(in.Title)), Runs: n.Runs, Experiment: n.Experiment, Metric: n.Metric,
		Description: n.Description, Unit: n.Unit, Per: n.Per, X: n.X, Series: n.Series, Command: n.Command}
	if out.Runs == nil {
		out.Runs = []string{}
	}
	number := func(v measure.Value) *json.Number {
		if !v.OK() {
			return nil
		}
		text := json.Number(valueText(v))
		return &text
	}
	if n.Timed() {
		out.X = "time_s"
		series := ""
		for i, p := range n.Points {
			if i == 0 || p.Series != series {
				series = p.Series
				out.Lines = append(out.Lines, figureLine{Labels: p.Labels, Missing: map[string]string{}})
			}
			l := &out.Lines[len(out.Lines)-1]
			l.Time, l.Values = append(l.Time, json.Number(p.X)), append(l.Values, number(p.Value))
			if !p.Value.OK() {
				l.Missing[p.X] = p.Value.Reason()
			}
		}
	} else {
		for _, p := range n.Points {
			one := figurePoint{Labels: p.Labels, Median: number(p.Value), Missing: p.Value.Reason(), Low: p.Low, High: p.High, N: sampled(p), Bound: p.Bound, Samples: []*json.Number{}}
			if p.Interval {
				one.Between = []float64{p.From, p.To}
			}
			for _, v := range p.Samples {
				one.Samples = append(one.Samples, number(v))
			}
			out.Points = append(out.Points, one)
		}
	}
	encoded, err := json.MarshalIndent(out, "", " ")
	return append(encoded, '\n'), err
}
