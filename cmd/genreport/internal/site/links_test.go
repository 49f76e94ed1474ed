package site

import (
	"fmt"
	"html"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestBrokenLinks(t *testing.T) {
	fsys := fstest.MapFS{
		"index.html": {Data: []byte(`<a href="en/a.html">a</a> <a href="https://example.org/x">elsewhere</a>
<a href="/root.html">root</a> <link rel="icon" href="assets/i.svg"> <a href="en/b.html">gone</a>`)},
		"en/a.html": {Data: []byte(`<h1 id="吞吐">t</h1> <a href="#%E5%90%9E%E5%90%90">here</a> <a href="../index.html">up</a>
<a href="#no">nowhere</a>
<a href="../index.html#no">no place</a> <a href="../data/x.json">data</a> <img src="p.png"> <a href="%zz">odd</a>`)},
		"assets/i.svg": {Data: []byte(`<a href="gone">not a page</a>`)},
		"data/x.json":  {},
	}
	broken, links, err := BrokenLinks(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range broken {
		got = append(got, b.String())
	}
	want := []string{
		`en/a.html:2: the link "#no" leads to a place that en/a.html does not have`,
		`en/a.html:3: the link "../index.html#no" leads to a place that index.html does not have`,
		`en/a.html:3: the link "p.png" leads to en/p.png, which is not there`,
		`en/a.html:3: the link "%zz" is none: parse "%zz": invalid URL escape "%zz"`,
		`index.html:2: the link "en/b.html" leads to en/b.html, which is not there`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || links != 10 {
		t.Errorf("%d links, broken are\n%s\nwant\n%s", links, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The pages that are built have no such link, and are seen to have links.
func TestBuiltPagesHaveNoBrokenLinks(t *testing.T) {
	for _, base := range []string{"", "https://example.org/sub/"} {
		in := withAsides(sampleInput(plainCharts{}))
		in.BaseURL = base
		fsys := fstest.MapFS{}
		for name, content := range build(t, in) {
			fsys[name] = &fstest.MapFile{Data: content}
		}
		broken, links, err := BrokenLinks(fsys)
		if err != nil || len(broken) > 0 || links < 100 {
			t.Errorf("base %q: %d links, %v, %v", base, links, fmt.Sprint(broken), err)
		}
	}
}

// brokenAnywhere are the links of all pages and feeds and of the site map that lead to nothing, absolute ones of the site included.
func brokenAnywhere(t *testing.T, files map[string][]byte, base string) (all []string) {
	t.Helper()
	fsys := fstest.MapFS{}
	ids := map[string]map[string]bool{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: content}
		if strings.HasSuffix(name, ".html") {
			ids[name] = map[string]bool{}
			for _, m := range idAttribute.FindAllStringSubmatch(string(content), -1) {
				ids[name][html.UnescapeString(m[1])] = true
			}
		}
	}
	broken, _, err := BrokenLinks(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		all = append(all, b.String())
	}
	leads := func(from, to string) {
		u, err := url.Parse(to)
		if err != nil {
			all = append(all, from+": "+err.Error())
			return
		}
		if _, there := files[u.Path]; !there {
			all = append(all, fmt.Sprintf("%s: %s is not there", from, to))
		} else if u.Fragment != "" && !ids[u.Path][u.Fragment] {
			all = append(all, fmt.Sprintf("%s: %s has no such place", from, to))
		}
	}
	relative := regexp.MustCompile(`href="([^"]+)"`)
	for name, content := range files {
		switch path.Ext(name) {
		case ".html", ".xml", ".txt":
		default:
			continue
		}
		if base != "" {
			for _, m := range regexp.MustCompile(regexp.QuoteMeta(base)+`[^\s"<>\\]*`).FindAllString(string(content), -1) {
				if to := strings.TrimPrefix(html.UnescapeString(m), base); to != "" {
					leads(name, to)
				}
			}
		}
		if path.Ext(name) == ".xml" {
			for _, m := range relative.FindAllStringSubmatch(string(content), -1) {
				if u, err := url.Parse(html.UnescapeString(m[1])); err != nil || !u.IsAbs() {
					leads(name, path.Join(path.Dir(name), m[1]))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
