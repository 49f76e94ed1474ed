package site

import (
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Broken is a link that leads nowhere.
type Broken struct {
	File string
	Line int
	Href string
	Why  string
}

func (b Broken) String() string {
	return fmt.Sprintf("%s:%d: the link %q %s", b.File, b.Line, b.Href, b.Why)
}

var (
	linkAttribute = regexp.MustCompile(`\s(?:href|src)="([^"]*)"`)
	idAttribute   = regexp.MustCompile(`\sid="([^"]*)"`)
)

// BrokenLinks finds the links of a site's pages that lead to a file or a place
// of a page which is not there. Links to elsewhere are not followed, and nor
// are those from a host's root, since it isn't known where the site will be.
func BrokenLinks(fsys fs.FS) (broken []Broken, links int, err error) {
	pages := map[string]string{}
	ids := map[string]map[string]bool{}
	files := map[string]bool{}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name] = true
		if path.Ext(name) != ".html" {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		pages[name], ids[name] = string(text), map[string]bool{}
		for _, m := range idAttribute.FindAllStringSubmatch(pages[name], -1) {
			ids[name][html.UnescapeString(m[1])] = true
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the pages: %w", err)
	}
	for _, name := range sortedKeys(pages) {
		for _, at := range linkAttribute.FindAllStringSubmatchIndex(pages[name], -1) {
			href := html.UnescapeString(pages[name][at[2]:at[3]])
			u, err := url.Parse(href)
			if err == nil && (u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/")) {
				continue
			}
			links++
			why := ""
			if err != nil {
				why = "is none: " + err.Error()
			} else {
				to := name
				if u.Path != "" {
					to = path.Join(path.Dir(name), u.Path)
				}
				switch {
				case !files[to]:
					why = "leads to " + to + ", which is not there"
				case u.Fragment != "" && ids[to] != nil && !ids[to][u.Fragment]:
					why = "leads to a place that " + to + " does not have"
				}
			}
			if why != "" {
				broken = append(broken, Broken{name, 1 + strings.Count(pages[name][:at[2]], "\n"), href, why})
			}
		}
	}
	return broken, links, nil
}
