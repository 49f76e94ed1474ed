package article

import (
	"html/template"

	"genreport/cmd/genreport/internal/chart"
	"genreport/measure"
)

// Page is one article in one language with every reference resolved: what the
// templates show. Strings are plain text, HTML is safe to insert.
type Page struct {
	Slug       string
	Lang       string // "zh" or "en"
	Series     string // "RabbitMQ"
	Number     int    // place in the series
	Title      string
	Question   string // the subtitle
	Summary    string // one sentence, for lists and descriptions
	Lede       template.HTML
	Headlines  []Headline
	Contents   []Heading // of level 2
	Blocks     []Block   // the body, in order
	Errata     []Erratum // the newest first
	Evidence   []Evidence
	Runs       []Source // where the numbers come from, without repetition
	Draft      bool     // numbers are of a quick run: not for publishing
	Aside      bool     // not of the series: no list has it, all pages lead to it
	ForAuthors bool     // an aside that does not explain the numbers
	Unmet      []Unmet  // references that have no number
	Claims     []Claim  // in the order of their first use
	Used       []Used   // results that it refers to
	Shapes     []Used   // its blocks, each counted within its kind: both languages should have the same
	Loose      []Loose  // numbers that were typed in
	Given      []GivenFrom
	Unsourced  []Loose // given numbers that don't say where they are from

	asked asked // what it depends on
}

// GivenFrom is where numbers are from that nobody measured here.
type GivenFrom struct {
	ID     string // unique on the page
	Title  string
	Href   string   // an address, or a place on the page; may be ""
	Values []string // as the text gives them, in order
}

// Unmet is a reference without a number, and where it stands.
type Unmet struct {
	Place
	Reason string
}

// Headline is one of the large figures at the top.
type Headline struct {
	Value template.HTML // "2,047", "~4.0 / 18 KiB", "15,100 → 26,300"
	Label template.HTML // one line under it
	Note  template.HTML // a second, smaller line, or ""
}

// Heading is an entry of the contents.
type Heading struct {
	ID   string
	Text string
}

// Block is one of the things that a body is made of.
type Block struct {
	HTML    template.HTML
	Figure  *Figure
	Output  *Output
	Grid    *Grid
	Given   *Given
	Setup   *Setup
	Callout *Callout
	Demo    *Demo
}

// Figure is a chart with its wording and the numbers it shows.
type Figure struct {
	ID      string // unique on the page
	Name    string // as in SLUG.yaml
	Title   template.HTML
	Caption template.HTML
	Wide    chart.Figure // for the width of the text
	Narrow  chart.Figure // the same for a phone
	Table   Table
	Numbers Numbers
	Data    []Link // the result files it is made from
	Marked  []MarkedSeries
}

// MarkedSeries names the points of a series that are client-bound.
type MarkedSeries struct {
	Name   string
	Points []Link // the category, and the case's evidence on the page
}

// Table is the data of a figure for those who can't see it.
type Table struct {
	Caption string // what the numbers are, with their unit
	Head    []string
	Rows    [][]string
}

// Output is a sample-output block, as a terminal would show it. Rows with one
// cell are lines of their own; the others form columns.
type Output struct {
	Client string // whose output it is, such as "pika 1.4.4"; may be empty
	Lines  []OutputLine
}

// OutputLine is one line of an Output.
type OutputLine struct {
	Cells []template.HTML
	Head  bool // names the columns below it
}

// Evidence is what stands behind numbers of the page: the samples of one case.
type Evidence struct {
	ID         string // the target of the numbers' links
	Experiment string
	Labels     measure.Labels
	Metrics    []EvidenceMetric // that the page refers to
	Others     int              // that it does not; they are in the data
	Repeats    int
	TooFew     bool // no interval can be claimed of so few repeats
	Limits     Limits
	Added      Added
	Failed     []FailedRepeat
	Command    string
	Data       Link
}

// ShownSample is what one repeat gave.
type ShownSample struct {
	Text    string
	Outlier bool // far from the others, by Tukey's fences; it counts all the same
}

// EvidenceMetric is one metric of a case, formatted.
type EvidenceMetric struct {
	Name, Unit  string
	Median      string
	Low, High   string        // smallest and largest sample
	Interval    string        // 95 % interval of the median; empty: too few samples
	Samples     []ShownSample // in the order in which they were measured
	Description string
	Missing     string // why there is no number
	ClientBound bool   // the number carries the mark
}

// Link leads somewhere within the site. Href is relative to the site's root.
type Link struct {
	Href, Text string
}

// Source is a run that a page takes numbers from.
type Source struct {
	Run         measure.Run
	Experiments []string
	Data        Link
}
