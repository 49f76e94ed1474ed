package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/table"
	"genreport/measure"
)

// tableFlags are the flags of show and compare.
type tableFlags struct {
	results, format      string
	experiments, metrics list
}

func (f *tableFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.results, "results", "", "`DIR` with result files (default: content/results, then build/results)")
	fs.Var(&f.experiments, "experiment", "`GLOB` of experiments, such as 'channel-*'; may be given several times (default: all)")
	fs.Var(&f.metrics, "metric", "`GLOB` of metrics, such as rate; may be given several times (default: all)")
	fs.StringVar(&f.format, "format", string(table.Text), "`NAME`: text, markdown or json")
}

func (f *tableFlags) selection() table.Selection {
	return table.Selection{Experiments: f.experiments, Metrics: f.metrics}
}

// dirs are where runs are looked for by their id.
func (f *tableFlags) dirs() []string {
	if f.results != "" {
		return []string{f.results}
	}
	return []string{filepath.Join("content", "results"), filepath.Join("build", "results")}
}

// find is the directory of a run that is given by its id or its path.
func (f *tableFlags) find(run string) (string, error) {
	if !strings.ContainsRune(run, filepath.Separator) {
		for _, dir := range f.dirs() {
			if path := filepath.Join(dir, run); isDir(path) && measure.ValidRunID(run) {
				return path, nil
			}
		}
	}
	if isDir(run) {
		return filepath.Abs(run) // "." has no name that could be an id
	}
	ids, err := f.ids()
	if err != nil {
		return "", err
	}
	return "", fmt.Errorf("there is no run %q in %s; %s", run, strings.Join(f.dirs(), " or "), listed(ids))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ids are the runs there are, newest first.
func (f *tableFlags) ids() ([]string, error) {
	var ids []string
	for _, dir := range f.dirs() {
		entries, err := os.ReadDir(dir)
		if err != nil && (f.results != "" || !errors.Is(err, os.ErrNotExist)) {
			return nil, fmt.Errorf("looking for runs: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() && measure.ValidRunID(e.Name()) && !slices.Contains(ids, e.Name()) {
				ids = append(ids, e.Name())
			}
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}

func listed(ids []string) string {
	const most = 5
	switch {
	case len(ids) == 0:
		return "there is none at all: run `genreport measure`"
	case len(ids) > most:
		return fmt.Sprintf("there are %s and %d older ones", strings.Join(ids[:most], ", "), len(ids)-most)
	case len(ids) > 1:
		return "there are " + strings.Join(ids, ", ")
	}
	return "there is " + ids[0]
}

// read is the run in a directory.
func read(dir string) (measure.Recorded, error) {
	rec, err := measure.ReadRun(os.DirFS(filepath.Dir(dir)), filepath.Base(dir))
	if err != nil {
		return rec, usageError{inDir(filepath.Dir(dir), err)}
	}
	return rec, nil
}

func showCommand(_ context.Context, args []string, s streams) error {
	var f tableFlags
	fs := flag.NewFlagSet("show", flag.ContinueOnError)
	f.register(fs)
	given, err := parseWith(fs, args, s, positional{"[RUN]", 0, 1},
		"Prints a run as tables. RUN is the id of a run or the path of its directory;\nwithout it the newest run is shown.")
	if err != nil {
		return err
	}
	format, err := table.ParseFormat(f.format)
	if err != nil {
		return usageError{err}
	}
	if len(given) == 0 {
		ids, err := f.ids()
		if err != nil {
			return usageError{err}
		}
		if len(ids) == 0 {
			return usageError{fmt.Errorf("there is no run in %s: run `genreport measure`", strings.Join(f.dirs(), " or "))}
		}
		given = ids[:1]
	}
	dir, err := f.find(given[0])
	if err != nil {
		return usageError{err}
	}
	rec, err := read(dir)
	if err != nil {
		return err
	}
	tables, err := table.Show(rec, f.selection())
	if err != nil {
		return usageError{err}
	}
	return table.Write(s.out, format, tables)
}

func compareCommand(_ context.Context, args []string, s streams) error {
	var f tableFlags
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.register(fs)
	content := fs.String("content", "content", "`DIR` with the articles whose claims are compared too, if it is there")
	by := fs.String("by", "", "`LABEL` whose values are compared within one run, such as client (default: broker)")
	given, err := parseWith(fs, args, s, positional{"RUN [RUN]", 1, 2},
		"Tells what changed from the first run to the second, or within one run from\nthe first value of a label to the others. Of two runs, the claims of the articles\nwhose verdict changed are listed, with the sentences. RUN is the id of a run or the path of\nits directory. Runs of another machine, kernel, profile, method or parameters\nare not comparable: the tables are printed all the same, and the status is 3.")
	if err != nil {
		return err
	}
	format, err := table.ParseFormat(f.format)
	if err != nil {
		return usageError{err}
	}
	if len(given) == 2 && *by != "" {
		return usageError{errors.New("--by compares within one run, and two are given")}
	}
	var dirs []string
	var runs []measure.Recorded
	for _, g := range given {
		dir, err := f.find(g)
		if err != nil {
			return usageError{err}
		}
		rec, err := read(dir)
		if err != nil {
			return err
		}
		dirs, runs = append(dirs, dir), append(runs, rec)
	}
	var tables table.Comparison
	switch {
	case len(runs) == 1 && *by == "":
		tables, err = table.By(runs[0], "broker", f.selection())
	case len(runs) == 1:
		tables, err = table.By(runs[0], *by, f.selection())
	case sameFile(dirs[0], dirs[1]):
		return usageError{fmt.Errorf("both are run %s", runs[0].Run.ID)}
	default:
		tables, err = table.Runs(runs[0], runs[1], f.selection())
	}
	if err != nil {
		return usageError{err}
	}
	if len(runs) == 2 {
		if tables.Claims, err = claimChanges(*content, runs[0], runs[1]); err != nil {
			return err
		}
	}
	if err := table.Write(s.out, format, tables); err != nil {
		return err
	}
	if why := tables.Unmet(); why != "" {
		return unmetError{errors.New(why)}
	}
	return nil
}

// claimChanges are the claims of the articles on which two runs differ, both
// having measured what they are about.
func claimChanges(dir string, before, after measure.Recorded) ([]table.ClaimChange, error) {
	if _, err := os.Stat(filepath.Join(dir, "site.yaml")); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	content, err := article.Load(os.DirFS(dir))
	if err != nil {
		return nil, usageError{inDir(dir, err)}
	}
	var pages [2][]article.Page
	for i, rec := range []measure.Recorded{before, after} {
		d := article.NewData(catalog(), []measure.Recorded{rec}, []string{rec.Run.Profile})
		if pages[i], err = content.Resolve(d); err != nil {
			return nil, usageError{inDir(dir, err)}
		}
	}
	var out []table.ClaimChange
	for _, c := range changedClaims(pages[0], pages[1]) {
		k := slices.IndexFunc(out, func(o table.ClaimChange) bool { return o.Article == c.page.Slug && o.Claim == c.old.Name })
		if k < 0 {
			k = len(out)
			out = append(out, table.ClaimChange{Article: c.page.Slug, Claim: c.old.Name, Tested: c.old.Tested, Before: c.old.Said, After: c.now.Said})
		}
		for _, s := range c.sentences() {
			s.Place = filepath.Join(dir, filepath.FromSlash(s.Place))
			out[k].Places = append(out[k].Places, s)
		}
	}
	return out, nil
}

// changedClaim is a claim of a page, of which two sets of runs say different
// things.
type changedClaim struct {
	page     article.Page
	old, now article.Claim
}

// sentences are its wordings, each with its file:line within the content.
func (c changedClaim) sentences() []table.ClaimPlace {
	var all []table.ClaimPlace
	for n, use := range c.old.Uses {
		if n < len(c.now.Uses) {
			all = append(all, table.ClaimPlace{Place: fmt.Sprintf("%s:%d:%d", use.File, use.Line, use.Column), Before: use.Text, After: c.now.Uses[n].Text})
		}
	}
	return all
}

// changedClaims are those of the same content whose verdict is another in after
// than in before, both having measured what they are about.
func changedClaims(before, after []article.Page) []changedClaim {
	var out []changedClaim
	for i, p := range before { // the same content: the same pages and claims
		for _, old := range p.Claims {
			at := slices.IndexFunc(after[i].Claims, func(c article.Claim) bool { return c.Name == old.Name })
			if at < 0 {
				continue
			}
			if now := after[i].Claims[at]; old.Verdict != now.Verdict && !old.Missing && !now.Missing {
				out = append(out, changedClaim{p, old, now})
			}
		}
	}
	return out
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
