package site

import (
	"errors"
	"path"
	"regexp"
	"strings"

	"genreport/cmd/genreport/internal/minify"
)

// darkBlock is how the style sheet gives its dark colours, once.
var darkBlock = regexp.MustCompile(`(?s)@media \(prefers-color-scheme: dark\) \{\n  :root \{\n(.*?)\n  \}\n\}\n`)

// withThemes lets a reader choose between light and dark: the dark colours, which
// the style sheet has once, also hold where page.js marks the document as dark,
// and don't where it is marked as light. :where keeps the weight of :root, so
// that what comes later, such as printing, still wins.
func withThemes(css []byte) ([]byte, error) {
	text := string(css)
	if !darkBlock.MatchString(text) {
		return nil, errors.New("it has no block of the form @media (prefers-color-scheme: dark) { :root { … } }")
	}
	text = darkBlock.ReplaceAllString(text, `@media (prefers-color-scheme: dark) {
  :root:where(:not([data-theme="light"])) {
$1
  }
}
:root:where([data-theme="dark"]) {
$1
}
`)
	if strings.Count(text, "prefers-color-scheme") != strings.Count(text, `@media (prefers-color-scheme: dark) {
  :root:where(`) {
		return nil, errors.New("it asks for prefers-color-scheme elsewhere: a reader who chose a theme would not get that part")
	}
	return []byte(text), nil
}

// smaller is what readers load of an asset.
func smaller(name string, content []byte) ([]byte, error) {
	switch path.Ext(name) {
	case ".css":
		themed, err := withThemes(content)
		if err != nil {
			return nil, err
		}
		return minify.CSS(themed)
	case ".js":
		return minify.JS(content)
	}
	return content, nil
}
