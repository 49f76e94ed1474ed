package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pkg is what `go list -json` tells of a package.
type pkg struct {
	ImportPath, Dir                          string
	Module                                   *struct{ Path string }
	Imports, TestImports, XTestImports, Deps []string
	GoFiles                                  []string
}

func listPackages(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// What measures knows nothing of what presents, and what presents starts no
// process and dials nothing.
func TestLayers(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		for _, dep := range p.Deps {
			if strings.HasPrefix(p.ImportPath, "genreport/measure") && (strings.HasPrefix(dep, "genreport/cmd") || dep == "genreport/templates" ||
				strings.Contains(dep, "echarts") || strings.Contains(dep, "goldmark")) {
				t.Errorf("%s depends on %s, which presents", p.ImportPath, dep)
			}
			if strings.HasPrefix(p.ImportPath, "genreport/cmd/genreport/internal/") && slices.Contains([]string{
				"genreport/measure/broker", "genreport/measure/database", "genreport/measure/debian", "genreport/measure/load", "genreport/measure/webapi",
				"genreport/measure/experiments", "genreport/measure/runner",
				"github.com/rabbitmq/amqp091-go"}, dep) {
				t.Errorf("%s depends on %s, which measures", p.ImportPath, dep)
			}
		}
		// Not by way of a library: gin, with which the API under test is written, can
		// render pages.
		if strings.HasPrefix(p.ImportPath, "genreport/measure") && slices.Contains(p.Imports, "html/template") {
			t.Errorf("%s imports html/template, which presents", p.ImportPath)
		}
		if strings.HasPrefix(p.ImportPath, "genreport/cmd/genreport/internal/") {
			for _, i := range p.Imports {
				if i == "os/exec" || i == "net" || i == "net/http" {
					t.Errorf("%s imports %s", p.ImportPath, i)
				}
			}
		}
	}
}

// Every third-party module is used in one package, so that replacing it means
// changing one place. Test helpers may be used where tests need them.
//
// An exception is amqp091-go: it is what load clients are measured with, and
// what the web API under test is written with. Neither may stand behind a layer
// that the programs of the articles do not have.
func TestOnePackagePerModule(t *testing.T) {
	modules := map[string]string{} // package -> module
	for _, p := range listPackages(t, "-deps", "-test", "./...") {
		if p.Module != nil && p.Module.Path != "genreport" {
			modules[p.ImportPath] = p.Module.Path
		}
	}
	users := map[string][]string{}
	for _, p := range listPackages(t, "./...") {
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if m := modules[i]; m != "" && !slices.Contains(users[m], p.ImportPath) {
				users[m] = append(users[m], p.ImportPath)
			}
		}
	}
	if len(users) == 0 {
		t.Fatal("no module is used at all: this test sees nothing")
	}
	shared := map[string][]string{"github.com/rabbitmq/amqp091-go": {"genreport/measure/load", "genreport/measure/webapi"}}
	for m, by := range users {
		if slices.Sort(by); slices.Equal(by, shared[m]) {
			continue
		}
		if len(by) > 1 {
			t.Errorf("%s is used by %s", m, strings.Join(by, ", "))
		}
	}
}

// No package has an init, or a variable that begins without a value, to be
// filled in later; files that the compiler embeds are filled in by it.
func TestNoGlobalState(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		fset := token.NewFileSet()
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.Name == "init" {
						t.Errorf("%s: init", fset.Position(d.Pos()))
					}
				case *ast.GenDecl:
					if d.Tok != token.VAR || isEmbedded(d.Doc) {
						continue
					}
					for _, s := range d.Specs {
						if v := s.(*ast.ValueSpec); len(v.Values) == 0 {
							t.Errorf("%s: variable %s has no value", fset.Position(v.Pos()), v.Names[0].Name)
						}
					}
				}
			}
		}
	}
}

func isEmbedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}
