package site

import (
	"fmt"
	"slices"

	"genreport/cmd/genreport/internal/article"
	"genreport/measure"
)

// Earlier is an article as it read after an earlier run: made from the same
// content, with the numbers that there were then.
type Earlier struct {
	Run  string // the newest run that it takes numbers from
	Page article.Page
}

func (e Earlier) path() string { return e.Page.Lang + "/runs/" + e.Run + "/" + e.Page.Slug + ".html" }

func archivePath(lang string) string { return lang + "/runs/index.html" }

// archive lists the runs, newest first, with the articles made from each.
func (b *builder) archive() error {
	if len(b.in.Runs) == 0 {
		return nil
	}
	for _, lang := range b.in.Languages {
		path, t := archivePath(lang), b.texts[lang]
		f := b.frame(path, t.Archive, t.ArchiveText, lang)
		f.Switch = b.languages(path, lang, archivePath)
		b.addressed(&f, path, inLanguages{same: archivePath})
		b.listed = append(b.listed, listed{path: path, in: inLanguages{same: archivePath}, changed: date(b.in.Runs[len(b.in.Runs)-1].Run.Started)})
		links := linker{b: b, from: path}
		var runs []archived
		for _, rec := range slices.Backward(b.in.Runs) {
			runs = append(runs, b.archived(rec, lang, t, &links))
		}
		if len(links.errs) > 0 {
			return fmt.Errorf("%s: %w", path, links.errs[0])
		}
		if err := b.render("archive.html", path, struct {
			frame
			Runs []archived
		}{f, runs}); err != nil {
			return err
		}
	}
	return nil
}

// archived is a run of the archive.
type archived struct {
	ID, Run, Date string
	Articles      []article.Link
	Rows          []row
}

func (b *builder) archived(rec measure.Recorded, lang string, t text, links *linker) archived {
	made := makeRun(article.Source{Run: rec.Run, Experiments: sortedKeys(rec.Results)}, t, links)
	made.Rows = slices.DeleteFunc(made.Rows, func(r row) bool { return r.Name == t.Format || r.Name == t.Experiments })
	planned, done, failed := 0, 0, 0
	for _, name := range sortedKeys(rec.Results) {
		r := rec.Results[name]
		planned += r.Planned
		done += len(r.Cells)
		for _, c := range r.Cells {
			if c.Failure != nil {
				failed++
			}
		}
	}
	files := row{Name: t.ResultFiles}
	for _, name := range b.filesOf(rec.Run.ID) {
		files.Links = append(files.Links, links.to(article.Link{Href: name}))
	}
	rows := []row{{Name: t.Cells, Values: []string{fmt.Sprintf(t.CellsOf, done, planned, failed)}}}
	if len(files.Links) > 0 {
		rows = append(rows, files)
	}
	made.Rows = append(rows, made.Rows...)
	a := archived{ID: "run-" + rec.Run.ID, Run: rec.Run.ID, Date: date(rec.Run.Started), Rows: made.Rows}
	from := archivePath(lang)
	for _, p := range b.in.Pages {
		if p.Lang == lang && !p.Aside && slices.ContainsFunc(p.Runs, func(s article.Source) bool { return s.Run.ID == rec.Run.ID }) {
			a.Articles = append(a.Articles, article.Link{Href: b.link(from, pagePath(p)), Text: p.Title})
		}
	}
	for _, e := range b.in.Earlier {
		if e.Page.Lang == lang && e.Run == rec.Run.ID {
			a.Articles = append(a.Articles, article.Link{Href: b.link(from, e.path()), Text: e.Page.Title + t.Open + t.AsThen + t.Close})
		}
	}
	return a
}

// ofArticle adds to a run under an article where it stands among the others.
func (b *builder) ofArticle(r run, path string, t text) run {
	if slices.ContainsFunc(b.in.Runs, func(o measure.Recorded) bool { return o.Run.ID == r.ID }) {
		href := b.link(path, archivePath(t.Lang)) + "#run-" + r.ID
		r.Rows = append(r.Rows, row{Name: t.Archive, Links: []article.Link{{Href: href, Text: t.ArchiveLink}}})
	}
	return r
}
