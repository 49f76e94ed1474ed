package article

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"
)

// erratumDeclared is a correction, in SLUG.yaml: what the article said, and what
// is right. Numbers of results change by themselves and need none.
type erratumDeclared struct {
	Date string `yaml:"date"` // of the correction, as 2026-12-01
	En   string `yaml:"en"`   // Markdown with references
	Zh   string `yaml:"zh"`
}

func (e erratumDeclared) text(lang string) string {
	if lang == "zh" {
		return e.Zh
	}
	return e.En
}

// Erratum is a correction of an article.
type Erratum struct {
	Date string // 2026-12-01
	Text template.HTML
}

// checkErrata refuses corrections that don't say when, or not in all languages.
func checkErrata(file string, words placedText, all []erratumDeclared, languages []string) []error {
	var bad faults
	for i, e := range all {
		n := strconv.Itoa(i)
		if _, err := time.Parse(time.DateOnly, e.Date); err != nil {
			bad.at(file, words.value("errata", n, "date"), fmt.Errorf("date of an erratum is %q, want the day of the correction as 2026-12-01", e.Date))
		}
		for _, lang := range languages {
			if e.text(lang) == "" {
				bad.at(file, words.place("errata", n, "date"), errors.New("an erratum has nothing for "+lang))
			}
		}
	}
	return bad.list
}

// errata are the article's corrections in its language, the newest first.
func (s source) errata(r *resolver, bad *faults) []Erratum {
	if len(s.shared.Errata) == 0 {
		return nil
	}
	words := s.sharedWords()
	in := s
	in.file = s.sharedFile // where the words stand
	var out []Erratum
	for i, e := range s.shared.Errata {
		path := []string{"errata", strconv.Itoa(i), s.lang}
		restore := r.standAt(words, path...)
		out = append(out, Erratum{Date: e.Date, Text: template.HTML(in.passage(r, e.text(s.lang), words.place(path...), bad))})
		restore()
	}
	slices.SortStableFunc(out, func(a, b Erratum) int { return cmp.Compare(b.Date, a.Date) })
	return out
}
