package chart

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A line of more points than there are pixel columns is drawn column by column: of the points in each, the first, the smallest, the
// largest and the last, which is all that a line through all of them could show there. What is missing stays a gap.

// thinned is a line chart whose x axis is columns of neighbouring categories.
type thinned struct {
	from   []int       // the first category of each column
	points [][]columnY // by series
	tips   [][]string  // by series and column
}

// columnY is a point in a column; without a value the line breaks.
type columnY struct {
	column int
	value  *float64
}

// thin is nil for a chart that needs none.
func thin(f Figure) *thinned {
	columns := f.Width // the plot is narrower: no column is wider than a pixel
	if f.Kind != Line || len(f.Categories) <= 2*columns {
		return nil
	}
	t := &thinned{}
	for c := range columns {
		t.from = append(t.from, c*len(f.Categories)/columns)
	}
	for _, s := range f.Series {
		var drawn []columnY
		tips := make([]string, columns)
		for c := range columns {
			points := s.Points[t.from[c]:t.end(c, len(f.Categories))]
			kept := extremes(points)
			for _, i := range kept {
				drawn = append(drawn, columnY{c, points[i].Value})
			}
			if len(kept) == 0 || slices.ContainsFunc(points, func(p Point) bool { return p.Value == nil }) {
				drawn = append(drawn, columnY{c, nil})
			}
			tips[c] = columnTip(points, kept)
		}
		t.points, t.tips = append(t.points, drawn), append(t.tips, tips)
	}
	return t
}

// end is the category after the last one of a column.
func (t *thinned) end(column, categories int) int {
	if column+1 < len(t.from) {
		return t.from[column+1]
	}
	return categories
}

// column is the one that a category is in.
func (t *thinned) column(category int) int {
	i, found := slices.BinarySearch(t.from, category)
	if !found {
		i--
	}
	return i
}

// extremes are the indices of the first, smallest, largest and last value, in order and without repetition.
func extremes(points []Point) []int {
	first, last, low, high := -1, -1, -1, -1
	for i, p := range points {
		if p.Value == nil {
			continue
		}
		if first < 0 {
			first, low, high = i, i, i
		}
		last = i
		if *p.Value < *points[low].Value {
			low = i
		}
		if *p.Value > *points[high].Value {
			high = i
		}
	}
	if first < 0 {
		return nil
	}
	all := []int{first, low, high, last}
	slices.Sort(all)
	return slices.Compact(all)
}

// columnTip says from where to where the values of a column go.
func columnTip(points []Point, kept []int) string {
	if len(kept) == 0 {
		return tip(points[0])
	}
	low, high := points[kept[0]], points[kept[0]]
	for _, i := range kept {
		if *points[i].Value < *low.Value {
			low = points[i]
		}
		if *points[i].Value > *high.Value {
			high = points[i]
		}
	}
	if tip(low) == tip(high) {
		return tip(low)
	}
	return tip(low) + " – " + tip(high)
}

// columnNames are the categories of each column: "71–142".
func (t *thinned) columnNames(categories []string) []string {
	names := make([]string, len(t.from))
	for c, from := range t.from {
		names[c] = categories[from]
		if last := t.end(c, len(categories)) - 1; last > from {
			names[c] += "–" + categories[last]
		}
	}
	return names
}

// detail is all points of a chart that is thinned. The browser puts a part of them into columns as thin does the whole.
type detail struct {
	Categories []string     `json:"categories"`
	Values     [][]*float64 `json:"values"` // by series and category
	Tips       [][]string   `json:"tips"`
	Phases     [][2]int     `json:"phases"`
}

// Detail is JSON of all points of a line that is drawn in columns, for a reader who looks closer; nil where the chart shows every point.
func Detail(f Figure) ([]byte, error) {
	f, err := ready(f)
	if err != nil {
		return nil, err
	}
	if thin(f) == nil {
		return nil, nil
	}
	d := detail{Categories: f.Categories, Phases: [][2]int{}}
	for _, p := range f.Phases {
		d.Phases = append(d.Phases, [2]int{p.From, p.To})
	}
	for _, s := range f.Series {
		var values []*float64
		var tips []string
		for _, p := range s.Points {
			values, tips = append(values, p.Value), append(tips, tip(p))
		}
		d.Values, d.Tips = append(d.Values, values), append(d.Tips, tips)
	}
	encoded, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("all points of figure %q: %w", f.ID, err)
	}
	return encoded, nil
}
