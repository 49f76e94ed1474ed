package minify

import (
	"strings"
	"testing"
)

// Blanks that mean something stay, and so does quoted text.
func TestCSS(t *testing.T) {
	for sheet, want := range map[string]string{
		"a , b {\n  color: red;\n  margin: 0 1px;\n}\n": "a,b{color:red;margin:0 1px}",
		"a :is(b) > c { top: 0 }":                       "a :is(b)>c{top:0}",
		`a::before { content: " /* · */  ; \" }"; }`:    `a::before{content:" /* · */  ; \" }"}`,
		"a { width: calc(1px + 2px) }":                  "a{width:calc(1px + 2px)}",
		"a { b: c } /* no end":                          "a{b:c}",
	} {
		if got, err := CSS([]byte(sheet)); err != nil || string(got) != want {
			t.Errorf("%q is %q, %v, want %q", sheet, got, err, want)
		}
	}
}

func TestJS(t *testing.T) {
	got, err := JS([]byte("// what\n(function () {\n  'use strict';\n  var long = document.title;\n  alert(long + ' </x> ');\n})();\n"))
	if err != nil || strings.Contains(string(got), "what") || strings.Contains(string(got), "long") || !strings.Contains(string(got), `</x>`) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := JS([]byte("var a = ;")); err == nil {
		t.Errorf("a script with an error is %q", got)
	}
}

// That each means the same was worked out by hand: points after M are joined by lines, and 1e2 is 100.
func TestPath(t *testing.T) {
	for d, want := range map[string]string{
		"M36.1 303.5L704.8 303.5":         "M36.1 303.5H704.8",
		"M1 2L1 10":                       "M1 2v8",
		"M10 10l0.5 0.5l0.5 -0.5":         "M10 10l.5.5.5-.5",
		"M0.1 0.1L0.4 0.2L0.7 0.3":        "M.1.1.4.2.7.3",
		"M100 100L101 101M300 300L99 298": "M1e2 1e2l1 1M3e2 3e2 99 298",
	} {
		if got, err := Path(d); err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", d, got, err, want)
		}
	}
	for _, d := range []string{`"/><script>`, "<", "&"} {
		if got, err := Path(d); err == nil {
			t.Errorf("%q is %q", d, got)
		}
	}
}
