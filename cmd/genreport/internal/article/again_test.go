package article

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// Resolved again, content gives what it gives when it is resolved at once,
// whichever of its files changed, and after an error too.
func TestAgain(t *testing.T) {
	again := NewAgain(testData())
	fsys := testContent("en", testHead, "## H\n\n${channels/rate client=go channels=1000}\n", "")
	fsys["b.yaml"] = &fstest.MapFile{Data: []byte("series: S\nnumber: 2\nbrokers: {current: 'debian:forky'}\n")}
	fsys["en/b.md"] = &fstest.MapFile{Data: []byte(testHead + "## B\n")}
	fsys["pages/en/method.md"] = &fstest.MapFile{Data: []byte(testAside)}
	same := func(what, wantErr string) {
		t.Helper()
		c, err := Load(fsys)
		if err != nil {
			t.Fatal(err)
		}
		want, wantError := c.Resolve(testData())
		got, gotError := again.Resolve(c)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotError, wantError) {
			t.Errorf("%s: %d pages and %v, want %d and %v", what, len(got), gotError, len(want), wantError)
		}
		if (gotError != nil) != (wantErr != "") || gotError != nil && !strings.Contains(gotError.Error(), wantErr) {
			t.Errorf("%s: %v, want %s", what, gotError, wantErr)
		}
	}
	edit := func(name, old, new string) {
		text := string(fsys[name].Data)
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %s", name, old)
		}
		fsys[name] = &fstest.MapFile{Data: []byte(strings.Replace(text, old, new, 1))}
	}
	same("at first", "")
	same("unchanged", "")
	edit("en/a.md", "channels=1000", "channels=2000")
	same("a body", "")
	edit("en/b.md", "title: Title", "title: Other")
	same("a front matter", "")
	edit("b.yaml", "series: S", "series: T")
	same("a declaration", "")
	edit("pages/en/method.md", "Lede.", "Words.")
	same("a page of another kind", "")
	edit("en/a.md", "channels/rate", "channels/rat")
	same("an error", `en/a.md:15:12: unknown metric "rat"`)
	same("still", `en/a.md:15:12: unknown metric "rat"`)
	edit("en/a.md", "channels/rat ", "channels/rate ")
	same("mended", "")
}
