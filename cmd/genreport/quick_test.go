package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"genreport/cmd/genreport/internal/article"
	"genreport/measure"
	"genreport/measure/experiments"
)

// The articles can be made from what the profile quick measures: what it leaves out
// is missing in them, and no wrong reference.
func TestArticlesOfQuick(t *testing.T) {
	runs, err := measure.Load(os.DirFS(filepath.Join("..", "..", "content", "results")), experiments.Methods())
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{} // experiments of which cells are left
	for _, r := range runs {
		for _, e := range experiments.All() {
			res, ok := r.Results[e.Name]
			if !ok {
				continue
			}
			res.Cells = slices.DeleteFunc(slices.Clone(res.Cells), func(c measure.Cell) bool {
				return c.Repeat > e.Repeats(experiments.Quick) || !slices.ContainsFunc(e.Cases(experiments.Quick), func(q experiments.Case) bool { return c.Labels.Match(q.Labels) })
			})
			res.Planned = len(res.Cells)
			r.Results[e.Name] = res
			left[e.Name] = left[e.Name] || len(res.Cells) > 0
		}
	}
	for _, e := range experiments.All() {
		if !left[e.Name] {
			t.Errorf("quick measures nothing of %s that standard does", e.Name)
		}
	}
	content, err := article.Load(os.DirFS(filepath.Join("..", "..", "content")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := content.Resolve(article.NewData(catalog(), runs, profilesOf(experiments.Standard))); err != nil {
		t.Error(err)
	}
}
