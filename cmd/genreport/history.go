package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/site"
	"genreport/measure"
)

// history is what the committed runs, added one after the other, made of the
// articles: how each read before its latest run, and which claims changed.
type history struct {
	earlier []site.Earlier
	changes []site.Change
}

// historyOf resolves, for each run, the pages that changed with it; pages are what
// all of them make. Runs of the profile quick have no history: they are for trying
// out.
func historyOf(content article.Content, m material, pages []article.Page) (history, error) {
	var h history
	runs := m.data.Runs()
	asOf := make([][]article.Page, len(runs))
	for i := range slices.Backward(runs) {
		if i == len(runs)-1 {
			asOf[i] = pages
			continue
		}
		var err error
		if asOf[i], err = content.ResolveBefore(article.NewData(m.catalog, runs[:i+1], m.profiles), runs[i+1], asOf[i+1]); err != nil {
			return h, fmt.Errorf("the articles as of run %s: %w", runs[i].Run.ID, err)
		}
	}
	for i := 1; i < len(runs); i++ {
		before, now := asOf[i-1], asOf[i]
		h.changes = append(h.changes, changesOf(before, now, runs[i].Run)...)
		for k, p := range before {
			if full(p, pages[k]) && !sameRuns(p, now[k]) {
				h.earlier = append(h.earlier, site.Earlier{Run: newestRun(p), Page: p})
			}
		}
	}
	return h, nil
}

func changesOf(before, after []article.Page, run measure.Run) []site.Change {
	var out []site.Change
	when := run.Started
	if run.Ended != nil {
		when = *run.Ended
	}
	for _, c := range changedClaims(before, after) {
		change := site.Change{Lang: c.page.Lang, Slug: c.page.Slug, Claim: c.old.Name, Tested: c.old.Tested, Run: run.ID, When: when, Before: c.old.Said, After: c.now.Said}
		for _, s := range c.sentences() {
			if s.Before != s.After {
				change.Sentences = append(change.Sentences, site.Sentence{Before: s.Before, After: s.After})
			}
		}
		out = append(out, change)
	}
	return out
}

// full reports whether an earlier page had results of all that today's shows.
func full(earlier, today article.Page) bool {
	measured := experimentsOf(earlier)
	return !earlier.Aside && len(measured) > 0 && !slices.ContainsFunc(experimentsOf(today), func(e string) bool { return !slices.Contains(measured, e) })
}

func experimentsOf(p article.Page) []string {
	var all []string
	for _, r := range p.Runs {
		all = append(all, r.Experiments...)
	}
	return all
}

func runIDs(p article.Page) []string {
	var all []string
	for _, r := range p.Runs {
		all = append(all, r.Run.ID)
	}
	slices.Sort(all)
	return all
}

func sameRuns(a, b article.Page) bool { return slices.Equal(runIDs(a), runIDs(b)) }
func newestRun(p article.Page) string { return slices.Max(runIDs(p)) }

// picturesOf are the pictures for previews that were made of what the pages say
// now, by their names, and the names of those that are not there, sorted.
func picturesOf(contentDir string, in site.Input) (pictures map[string][]byte, lacking []string, err error) {
	cards, err := site.Cards(in)
	if err != nil {
		return nil, nil, err
	}
	pictures = map[string][]byte{}
	for _, name := range sortedKeys(cards) {
		name = name[:len(name)-len(".html")]
		file := filepath.Join(contentDir, pictureDir, name)
		content, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			lacking = append(lacking, name)
			continue
		}
		if err == nil {
			err = site.CheckPicture(content)
		}
		if err != nil {
			return nil, nil, usageError{fmt.Errorf("%s: %w: make it again with `make social`", file, err)}
		}
		pictures[name] = content
	}
	return pictures, lacking, nil
}

// pictureDir is where pictures for previews are, within the content.
const pictureDir = "social"

// writeCards leaves the pages that the pictures are taken of in a directory.
func writeCards(dir string, in site.Input) error {
	cards, err := site.Cards(in)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--cards: %w", err)
	}
	for name, page := range cards {
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
			return fmt.Errorf("--cards: %w", err)
		}
	}
	return nil
}

// resultFiles are the files of the given runs, by path below the results.
func resultFiles(runs []measure.Recorded, published []string) map[string][]byte {
	out := map[string][]byte{}
	for _, r := range runs {
		if slices.Contains(published, r.Run.ID) {
			for name, content := range r.Files {
				out[path.Join(r.Run.ID, name)] = content
			}
		}
	}
	return out
}
