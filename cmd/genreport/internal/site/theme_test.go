package site

import "testing"

// What separates rules needs no blanks, but a descendant does, and quoted text is
// nobody's to change.
func TestCompact(t *testing.T) {
	for css, want := range map[string]string{
		"a , b {\n  color: red;\n  margin: 0 1px;\n}\n":          "a,b{color: red;margin: 0 1px;}",
		"/* one */\na { }\n/* two */\nb {}":                      "a{}b{}",
		"a :is(b) > c{}":                                         "a :is(b) > c{}",
		`a::before { content: " /* · */  ; \" }"; }`:             `a::before{content: " /* · */  ; \" }";}`,
		"@media (max-width: 10px) { a { b: calc(1px + 2px); } }": "@media (max-width: 10px){a{b: calc(1px + 2px);}}",
		"a { b: c } /* no end":                                   "a{b: c}",
		"a{b:url('x  y')}":                                       "a{b:url('x  y')}",
	} {
		if got := compact(css); got != want {
			t.Errorf("%q is %q, want %q", css, got, want)
		}
	}
}
