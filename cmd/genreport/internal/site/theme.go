package site

import (
	"errors"
	"regexp"
	"strings"
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

// compact leaves out of a style sheet what no browser needs: comments, and blanks
// beside what separates rules and declarations. Quoted text stays as it is.
func compact(css string) string {
	var b strings.Builder
	blank := false
	last := byte('}')
	for i := 0; i < len(css); i++ {
		c := css[i]
		switch {
		case strings.HasPrefix(css[i:], "/*"):
			end := strings.Index(css[i+2:], "*/")
			if end < 0 {
				return b.String() // the rest is a comment
			}
			i += 2 + end + 1
			blank = true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			blank = true
		default:
			if blank && !strings.ContainsRune("{};,", rune(last)) && !strings.ContainsRune("{};,", rune(c)) {
				b.WriteByte(' ')
			}
			blank = false
			if c == '"' || c == '\'' {
				end := i + 1
				for end < len(css) && css[end] != c {
					if css[end] == '\\' {
						end++
					}
					end++
				}
				end = min(end, len(css)-1)
				b.WriteString(css[i : end+1])
				i, last = end, c
				continue
			}
			b.WriteByte(c)
			last = c
		}
	}
	return b.String()
}
