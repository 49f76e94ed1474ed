package main

import (
	"testing"

	"genreport/cmd/genreport/internal/article"
	"genreport/measure"
)

// An article is readable as of a run only when that run, with those before it, had
// measured all that the article shows today.
func TestFull(t *testing.T) {
	page := func(experiments ...string) (p article.Page) {
		for _, e := range experiments {
			p.Runs = append(p.Runs, article.Source{Run: measure.Run{ID: "run-of-" + e}, Experiments: []string{e}})
		}
		return p
	}
	today := page("a", "b")
	aside := page("a", "b")
	aside.Aside = true
	for name, c := range map[string]struct {
		earlier article.Page
		want    bool
	}{"all": {page("b", "a"), true}, "one lacks": {page("a"), false}, "nothing yet": {page(), false}, "no article": {aside, false}} {
		if got := full(c.earlier, today); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if full(page(), page()) {
		t.Error("an article of no result is shown as of a run")
	}
	if sameRuns(page("a"), page("a", "b")) || !sameRuns(page("b", "a"), today) || newestRun(today) != "run-of-b" {
		t.Error("runs are told apart wrongly")
	}
}
