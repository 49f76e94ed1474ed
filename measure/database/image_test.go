package database

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"genreport/measure/debian"
)

// Where MySQL can't be had, MariaDB is taken, and the user told; never for a
// suite that was asked for.
func TestEnsureFallsBack(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // nothing can be built
	cache := t.TempDir()
	var said []string
	d := debian.Debian{Cache: cache, Log: func(line string) { said = append(said, line) }}
	ctx := context.Background()
	if _, err := Ensure(ctx, d, Spec{}); err == nil || !strings.Contains(err.Error(), "Debian sid") || !strings.Contains(err.Error(), "Debian trixie") {
		t.Errorf("neither: %v", err)
	}
	put := func(image, suite, version string) {
		t.Helper()
		dir := filepath.Join(cache, image+"."+suite+"-"+version+".recipe1")
		if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
			t.Fatal(err)
		}
		text := `{"image":"` + image + `","recipe":1,"suite":"` + suite + `","package":"` + version + `","built":"2026-01-01T00:00:00Z"}`
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("mariadb", "trixie", "11")
	said = nil
	r, err := Ensure(ctx, d, Spec{})
	if err != nil || r.Suite != "trixie" || r.Package != "11" || !strings.Contains(strings.Join(said, "\n"), "MySQL can't be had, taking MariaDB") {
		t.Errorf("%+v, %v; said %q", r, err, said)
	}
	if _, err := Ensure(ctx, d, Spec{Suite: "sid"}); err == nil {
		t.Error("MariaDB was taken where sid was asked for")
	}
	put("mysql", "sid", "9")
	if r, err := Ensure(ctx, d, Spec{}); err != nil || r.Suite != "sid" || r.Package != "9" {
		t.Errorf("%+v, %v", r, err)
	}
}
