package site

import (
	"errors"
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/claim"
	"genreport/cmd/genreport/internal/number"
	"genreport/cmd/genreport/internal/words"
	"genreport/measure"
)

// articleView is what article.html shows.
type articleView struct {
	frame
	Page          article.Page
	Byline        bool
	Measured      string // date
	MissingNotice string
	DriftNotice   string
	HeadlineSize  string // class
	Contents      []article.Heading
	Blocks        []block
	ErrataID      string
	ClaimsID      string
	ClaimCounts   string
	GivenID       string
	Claims        []claimRow
	Earlier       string // notice that the page is of an earlier run; "" for today's
	Today         string // where today's is
	Prev, Next    *neighbour
	HasEvidence   bool
	EvidenceID    string
	Groups        []group
	Runs          []run
	Demo          string // script of demonstrations; "" where the page has none
	Charts        chartScripts
	ChartWords    figureWords
}

// claimRow is a claim in the table of them.
type claimRow struct {
	article.Claim
	Expected string // where the verdict is another than the article is written for
}

type block struct {
	HTML   template.HTML
	Figure *figure
	Output *output
	ownBlock
}

// output is a sample output: text and tables in turn.
type output struct {
	UI            *text
	Client, Label string
	Parts         []part
}

// part is a line of text, or a table when it has rows.
type part struct {
	Text   template.HTML
	Strong bool
	Lines  bool // the text has lines of its own, which are not to be broken
	Head   []cell
	Rows   [][]cell
}

type cell struct {
	HTML   template.HTML
	Number bool // aligned to the right
}

// group is the evidence of one experiment.
type group struct {
	ID, Name, Count string
	Cases           []evidence
}

type evidence struct {
	UI      *text
	ID      string
	Labels  []label
	Metrics []metric
	Behind  []behind
	Command template.HTML
	Data    article.Link
	Others  string // metrics of the case that only the data has
}

// metric has what templates show of one: they find the fields of an embedded one
// by a search.
type metric struct {
	Name, Description, Unit, Median string
	Missing                         string // why there is none
	ClientBound                     bool
	Spreads                         []string      // how far the samples lie apart
	Samples                         template.HTML // one by one they would take most of a template's time
}

// behind is one thing that a reader should know of how a case came about.
type behind struct {
	Name, Text string
	Bad        bool
}

type label struct{ Key, Value string }

// run is where and with what was measured.
type run struct {
	UI     *text
	ID     string
	Anchor string // where facts lead that the run tells
	Rows   []row
}

type row struct {
	Name   string
	Values []string
	Links  []article.Link
}

// article makes the view of a page at a path. earlier is the run that made it so,
// "" for today's.
func (b *builder) article(p article.Page, path, earlier string) (articleView, error) {
	t := b.texts[p.Lang]
	v := articleView{frame: b.frame(path, p.Title, p.Summary, p.Lang), Page: p, Contents: slices.Clone(p.Contents)}
	v.Measured = measured(p)
	b.around(&v, p, path, earlier)
	v.Byline = v.Author != "" || v.Measured != ""
	if n := len(p.Unmet); n > 0 {
		v.MissingNotice = count(n, t.MissingOne, t.MissingMany)
	}
	var drifted []string
	for _, s := range p.Runs {
		if drift, ok := s.Run.Drift(); ok && s.Run.Drifted() {
			drifted = append(drifted, fmt.Sprintf(t.DriftedRun, s.Run.ID, percent(drift)))
		}
	}
	if drifted != nil {
		v.DriftNotice = fmt.Sprintf(t.Drifted, strings.Join(drifted, t.Comma), percent(measure.DriftLimit))
	}
	v.HeadlineSize = headlineSize(p.Headlines)

	links := linker{b: b, from: path}
	if slices.ContainsFunc(p.Blocks, func(x article.Block) bool { return x.Figure != nil }) {
		var err error
		if v.Charts, err = b.chartScripts(path, hasDemo(p)); err != nil {
			return v, err
		}
		v.ChartWords = wordsOfFigures(p.Lang)
	}
	figures, outputs := 0, 0
	own := newOwn(p.Lang)
	if hasDemo(p) && v.Charts.Loader == "" {
		demo, err := b.demo()
		if err != nil {
			return v, err
		}
		v.Demo = b.link(path, demo)
	}
	for _, in := range p.Blocks {
		out := block{HTML: in.HTML}
		switch {
		case in.Figure != nil:
			figures++
			f, err := b.figure(in.Figure, figures, t, &links)
			if err != nil {
				return v, err
			}
			out.Figure = f
		case in.Output != nil:
			outputs++
			out.Output = makeOutput(*in.Output, outputs, t)
		default:
			out.ownBlock = own.block(in, &links)
		}
		v.Blocks = append(v.Blocks, out)
	}
	if len(p.Errata) > 0 {
		v.ErrataID = "_errata"
		v.Contents = append(v.Contents, article.Heading{ID: v.ErrataID, Text: t.Errata})
	}
	for _, c := range p.Claims {
		row := claimRow{Claim: c}
		row.Evidence = slices.Clone(c.Evidence)
		for i, l := range row.Evidence {
			if l.Text == "" { // the only case: there is nothing to tell it from
				row.Evidence[i].Text = t.CaseOne
			}
		}
		if c.Expect != c.Verdict {
			row.Expected = fmt.Sprintf(t.ClaimExpected, map[claim.Verdict]string{claim.Holds: t.ClaimHolds, claim.Fails: t.ClaimFails, claim.Undecided: t.ClaimUndecided}[c.Expect])
		}
		v.Claims = append(v.Claims, row)
	}
	if v.Claims != nil {
		v.ClaimsID = "_claims"
		v.ClaimCounts = claimCounts(p.Claims, t)
		v.Contents = append(v.Contents, article.Heading{ID: v.ClaimsID, Text: t.Claims})
	}
	if len(p.Given) > 0 {
		v.GivenID = "_given"
		v.Contents = append(v.Contents, article.Heading{ID: v.GivenID, Text: t.Given})
	}
	v.Groups = groups(p.Evidence, t, &links)
	for _, s := range p.Runs {
		v.Runs = append(v.Runs, b.ofArticle(makeRun(s, t, &links), path, t))
	}
	if v.HasEvidence = len(v.Groups)+len(v.Runs) > 0; v.HasEvidence {
		v.EvidenceID = "_evidence" // ids of headings never begin like this
		v.Contents = append(v.Contents, article.Heading{ID: v.EvidenceID, Text: t.Evidence})
	}
	return v, errors.Join(links.errs...)
}

// claimCounts tells how many claims have each verdict, those that none has left out.
func claimCounts(claims []article.Claim, t text) string {
	var all []string
	for _, v := range claim.Verdicts() {
		n := 0
		for _, c := range claims {
			if c.Verdict == v {
				n++
			}
		}
		switch words := t.ClaimCounts[v]; n {
		case 0:
		case 1:
			all = append(all, fmt.Sprintf(words[0], n))
		default:
			all = append(all, fmt.Sprintf(words[1], n))
		}
	}
	return strings.Join(all, t.Comma)
}

// schemas are the files that describe the result files.
func (b *builder) schemas() []article.Link {
	var all []article.Link
	for _, name := range sortedKeys(b.in.Data) {
		if strings.HasSuffix(name, ".schema.json") {
			all = append(all, article.Link{Href: "data/" + name})
		}
	}
	return all
}

// linker makes links to files of the site, and remembers those that lead
// nowhere.
type linker struct {
	b    *builder
	from string
	errs []error
}

func (l *linker) to(in article.Link) article.Link {
	if in.Href == "" {
		return in
	}
	if !l.b.isFile(in.Href) {
		l.errs = append(l.errs, fmt.Errorf("it links to %s, which is not published", in.Href))
	}
	if in.Text == "" {
		in.Text = in.Href[strings.LastIndexByte(in.Href, '/')+1:]
	}
	in.Href = l.b.link(l.from, in.Href)
	return in
}

func makeOutput(in article.Output, number int, t text) *output {
	out := &output{UI: &t, Client: in.Client, Label: fmt.Sprint(t.Output, t.Open, number, t.Close)}
	for i := 0; i < len(in.Lines); {
		if len(in.Lines[i].Cells) <= 1 {
			p := part{Strong: in.Lines[i].Head}
			for _, c := range in.Lines[i].Cells {
				p.Text = c
			}
			p.Lines = strings.Contains(string(p.Text), "\n")
			out.Parts = append(out.Parts, p)
			i++
			continue
		}
		end := i + 1 // a line that names columns begins another table
		for end < len(in.Lines) && len(in.Lines[end].Cells) > 1 && !in.Lines[end].Head {
			end++
		}
		out.Parts = append(out.Parts, makeTable(in.Lines[i:end]))
		i = end
	}
	return out
}

// makeTable aligns a column to the right when every cell below its name is a
// number. The first column may begin with one and still be words, as in
// "1 connection × 16 channels": then it stays on the left.
func makeTable(lines []article.OutputLine) part {
	width := 0
	for _, l := range lines {
		width = max(width, len(l.Cells))
	}
	numeric := make([]bool, width)
	for c := range numeric {
		some, all := false, true
		for _, l := range lines {
			if l.Head || c >= len(l.Cells) {
				continue
			}
			switch text := plain(l.Cells[c]); {
			case text == "" || strings.Contains(string(l.Cells[c]), `class="missing"`):
			case startsWithNumber(text) && (c > 0 || !strings.ContainsFunc(text, unicode.IsLetter)):
				some = true
			default:
				all = false
			}
		}
		numeric[c] = some && all
	}
	var p part
	for _, l := range lines {
		cells := make([]cell, width)
		for c := range cells {
			cells[c].Number = numeric[c]
			if c < len(l.Cells) {
				cells[c].HTML = l.Cells[c]
			}
		}
		if l.Head {
			p.Head = cells
		} else {
			p.Rows = append(p.Rows, cells)
		}
	}
	if p.Rows == nil { // names without a row: an empty table would show nothing
		p.Rows, p.Head = [][]cell{p.Head}, nil
	}
	return p
}

func startsWithNumber(s string) bool {
	s = strings.TrimLeft(s, "~≈<>≤≥+-−± ")
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsDigit(r)
}

// unseen is text for those who hear the page.
var unseen = regexp.MustCompile(`<span class="unseen">[^<]*</span>`)

var tag = regexp.MustCompile(`<[^>]*>`)

// plain is the text of HTML.
func plain(h template.HTML) string {
	text := string(h)
	if strings.Contains(text, "<") {
		text = tag.ReplaceAllString(text, "")
	}
	return strings.TrimSpace(html.UnescapeString(text))
}

// headlineSize is the class under which the headline figures stand in one row.
func headlineSize(all []article.Headline) string {
	longest := 0
	for _, h := range all {
		shown := unseen.ReplaceAllString(string(h.Value), "")
		longest = max(longest, utf8.RuneCountInString(plain(template.HTML(shown))))
	}
	switch {
	case longest <= 8:
		return "large"
	case longest <= 16:
		return "medium"
	}
	return "small"
}

func groups(all []article.Evidence, t text, links *linker) []group {
	var out []group
	for _, e := range all {
		i := slices.IndexFunc(out, func(g group) bool { return g.Name == e.Experiment })
		if i < 0 {
			i = len(out)
			out = append(out, group{ID: article.EvidenceOf(e.Experiment), Name: e.Experiment})
		}
		v := evidence{UI: &t, ID: e.ID, Command: commandHTML(e.Command), Data: links.to(e.Data), Behind: behindOf(e, t)}
		if e.Others > 0 {
			v.Others = fmt.Sprintf(t.OtherMetrics, e.Others)
		}
		for _, m := range e.Metrics {
			shown := metric{Name: m.Name, Unit: m.Unit, Median: m.Median, ClientBound: m.ClientBound, Spreads: spreads(m, t), Samples: samplesHTML(m.Samples, t)}
			shown.Description, _ = words.In(t.Lang, m.Description)
			shown.Missing, _ = words.In(t.Lang, m.Missing)
			// "18 KiB" says its unit already, and counts have none.
			switch {
			case m.Unit == string(measure.PerSecond):
				shown.Unit = "/s"
			case m.Unit == string(measure.Count) || strings.HasSuffix(m.Median, m.Unit):
				shown.Unit = ""
			}
			v.Metrics = append(v.Metrics, shown)
		}
		for _, k := range sortedKeys(e.Labels) {
			v.Labels = append(v.Labels, label{k, e.Labels[k]})
		}
		out[i].Cases = append(out[i].Cases, v)
	}
	for i := range out {
		out[i].Count = count(len(out[i].Cases), t.CaseOne, t.CaseMany)
	}
	return out
}

func spreads(m article.EvidenceMetric, t text) []string {
	var all []string
	if m.Low != m.High {
		all = append(all, t.Range+" "+m.Low+" – "+m.High)
	}
	if m.Interval != "" {
		all = append(all, t.Interval+" "+m.Interval)
	}
	return all
}

func samplesHTML(samples []article.ShownSample, t text) template.HTML {
	if len(samples) == 0 {
		return ""
	}
	var b strings.Builder
	template.HTMLEscape(&b, []byte(t.Samples))
	for i, s := range samples {
		if i > 0 {
			b.WriteString(" ·")
		}
		b.WriteByte(' ')
		template.HTMLEscape(&b, []byte(s.Text))
		if s.Outlier {
			b.WriteString("<i>" + template.HTMLEscapeString(t.Outlier) + "</i>")
		}
	}
	return template.HTML(b.String())
}

// behindOf says who held the case back, why it claims no interval, whether its
// messages add up, and why repeats failed.
func behindOf(e article.Evidence, t text) []behind {
	var all []behind
	if l := e.Limits; len(l.Bounds) > 0 {
		all = append(all, behind{Name: t.BoundBy, Text: limitsText(l, t)})
	}
	if e.TooFew {
		why := t.TooFewOne
		if e.Repeats > 1 {
			why = fmt.Sprintf(t.TooFewMany, e.Repeats, percent(article.Certainty(e.Repeats)))
		}
		all = append(all, behind{Name: t.Spread, Text: why})
	}
	if a := e.Added; a.Repeats > 0 {
		all = append(all, behind{Name: t.Messages, Text: strings.Join(append([]string{fmt.Sprintf(t.AddUp, a.Repeats, e.Repeats)}, countsText(a.Counts, t)...), t.Comma)})
	}
	for _, f := range e.Failed {
		reason, _ := words.In(t.Lang, f.Reason)
		if len(f.Counts) > 0 {
			reason += t.Open + strings.Join(countsText(f.Counts, t), t.Comma) + t.Close
		}
		all = append(all, behind{Name: fmt.Sprintf(t.FailedRepeat, f.Repeat), Text: reason, Bad: true})
	}
	return all
}

func limitsText(l article.Limits, t text) string {
	var verdicts []string
	for _, b := range l.Bounds {
		said := map[measure.Bound]string{measure.BoundHost: t.BoundHost, measure.BoundClient: t.BoundClient, measure.BoundBroker: t.BoundBroker,
			measure.BoundNothing: t.BoundNothing, measure.BoundUnknown: t.BoundUnknown}[b.By]
		if len(l.Bounds) > 1 {
			said += t.Open + count(b.Repeats, t.RepeatOne, t.RepeatMany) + t.Close
		}
		verdicts = append(verdicts, said)
	}
	out := strings.Join(verdicts, t.Semicolon)
	if len(l.Bounds) > 1 {
		out = t.Mixed + out
	}
	if l.Share {
		share := percent(l.Low)
		if high := percent(l.High); high != share {
			share = strings.TrimSuffix(share, "%") + "–" + high
		}
		out += t.Semicolon + fmt.Sprintf(t.BrokerShare, share)
	}
	return out
}

func countsText(all []article.Count, t text) []string {
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprintf(t.fate(c.Name), c.Value))
	}
	return out
}

// percent shows a share: whole, or with a decimal where that would round away
// what there is to see.
func percent(share float64) string {
	if share = 100 * share; share < 10 && share != math.Trunc(share) || share > 90 && share < 99.95 {
		return strings.TrimSuffix(strconv.FormatFloat(share, 'f', 1, 64), ".0") + "%"
	}
	return strconv.FormatFloat(share, 'f', 0, 64) + "%"
}

// controlLines are the control load's rates, broker by broker, with the drift.
func controlLines(r measure.Run, t text) []string {
	var lines []string
	var brokers []string
	for _, c := range r.Control {
		if !slices.Contains(brokers, c.Broker) {
			brokers = append(brokers, c.Broker)
		}
	}
	for _, b := range brokers {
		var rates []string
		for _, c := range r.Control {
			switch {
			case c.Broker != b:
			case c.Rate.OK():
				rates = append(rates, number.Format(c.Rate.Float64(), measure.PerSecond, number.Options{}))
			default:
				reason, _ := words.In(t.Lang, c.Rate.Reason())
				rates = append(rates, t.NotMeasured+t.Open+reason+t.Close)
			}
		}
		lines = append(lines, b+t.Separator+strings.Join(rates, " → ")+" /s")
	}
	if drift, ok := r.Drift(); ok {
		lines = append(lines, fmt.Sprintf(t.Drift, percent(drift), percent(measure.DriftLimit)))
	}
	return lines
}

func makeRun(s article.Source, t text, links *linker) run {
	r := s.Run
	v := run{UI: &t, ID: r.ID, Anchor: article.RunID(r.ID)}
	add := func(name string, values ...string) {
		values = slices.DeleteFunc(values, func(s string) bool { return s == "" })
		if len(values) > 0 {
			v.Rows = append(v.Rows, row{Name: name, Values: values})
		}
	}
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), t.Separator)
	}
	add(t.Experiments, strings.Join(s.Experiments, t.Separator))
	add(t.Profile, r.Profile)
	when := r.Started.UTC().Format("2006-01-02 15:04")
	if r.Ended != nil {
		layout := "15:04"
		if date(*r.Ended) != date(r.Started) {
			layout = "2006-01-02 15:04"
		}
		when += " – " + r.Ended.UTC().Format(layout)
	}
	add(t.Date, when+" UTC")
	m := r.Machine
	var cores, memory, kernel string
	if m.Cores > 0 {
		cores = fmt.Sprintf(t.Cores, m.Cores)
	}
	if m.MemoryBytes > 0 {
		memory = fmt.Sprintf("%.1f GiB", float64(m.MemoryBytes)/(1<<30))
	}
	if m.Kernel != "" {
		kernel = t.Kernel + " " + m.Kernel
	}
	var governor, load string
	if m.Governor != "" {
		governor = t.Governor + " " + m.Governor
	}
	if m.Cores > 0 {
		load = fmt.Sprintf(t.Load, strconv.FormatFloat(m.Load1, 'f', 2, 64))
	}
	kind, _ := words.In(t.Lang, m.Virtualisation)
	add(t.Machine, join(m.CPU, cores, memory, governor), join(m.OS, kernel, m.Arch, kind), load)
	var lines []string
	for _, x := range r.Brokers {
		lines = append(lines, join(x.Label, "RabbitMQ "+x.RabbitMQ, "Erlang/OTP "+x.Erlang))
	}
	add(t.Broker, lines...)
	lines = nil
	for _, x := range r.Clients {
		lines = append(lines, join(x.Label, strings.TrimSpace(x.Library+" "+x.Version), x.Runtime))
	}
	add(t.Client, lines...)
	commit := r.Tool.Commit
	if len(commit) > 12 {
		commit = commit[:12]
	}
	dirty := ""
	if r.Tool.Dirty {
		dirty = t.Dirty
	}
	add(t.Tool, join("genreport "+r.Tool.Version, commit, r.Tool.Go, dirty))
	add(t.Control, controlLines(r, t)...)
	var warnings []string
	for _, w := range r.Warnings {
		said, _ := words.In(t.Lang, w)
		warnings = append(warnings, said)
	}
	add(t.Warnings, warnings...)
	if s.Data.Href != "" {
		v.Rows = append(v.Rows, row{Name: t.RunFile, Links: []article.Link{links.to(s.Data)}})
	}
	if schemas := links.b.schemas(); len(schemas) > 0 {
		r := row{Name: t.Format}
		for _, s := range schemas {
			r.Links = append(r.Links, links.to(s))
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// commandHTML is a command whose words stay whole where lines break: browsers
// break behind hyphens and slashes, and what is copied from a PDF then has a
// space there.
func commandHTML(command string) template.HTML {
	words := strings.Split(command, " ")
	for i, w := range words {
		words[i] = template.HTMLEscapeString(w)
		if strings.ContainsAny(w, "-/") {
			words[i] = "<span>" + words[i] + "</span>"
		}
	}
	return template.HTML(strings.Join(words, " "))
}
