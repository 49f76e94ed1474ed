package article

import (
	"fmt"
	"slices"
)

// ownKinds are the blocks whose wording is YAML or Markdown of its own.
func ownKinds() []string { return []string{"table", "given", "setup", "callout", "demo"} }

// ownBlocks is what a page has of them.
type ownBlocks struct {
	shown  map[string]bool // tables and demonstrations, by "kind id"
	shapes []Used
}

// ownBlock makes one of them; false where something is wrong.
func (s source) ownBlock(r *resolver, have *ownBlocks, kind, info string, line int, body string, bad *faults) (Block, bool) {
	have.count(kind, info, s.file, line)
	r.here = Place{s.file, line, 1}
	var b Block
	switch kind {
	case "table", "demo":
		key := kind + " " + info
		if have.shown[key] {
			bad.at(s.file, place{line, 1}, fmt.Errorf("%s is there twice", key))
			return b, false
		}
		have.shown[key] = true
		if kind == "demo" {
			b.Demo = s.demo(r, info, line, body, bad)
		} else {
			b.Grid = s.grid(r, info, line, body, bad)
		}
	case "given":
		b.Given = s.parameters(r, info, line, body, bad)
	case "setup":
		if info != "" {
			bad.at(s.file, place{line, 1}, fmt.Errorf("setup takes nothing after its name, and there is %q", info))
			return b, false
		}
		b.Setup = s.setup(r, line, body, bad)
	case "callout":
		b.Callout = s.callout(r, info, line, body, bad)
	}
	return b, b.Demo != nil || b.Grid != nil || b.Given != nil || b.Setup != nil || b.Callout != nil
}

// count notes a block, told from the others of its kind, so that languages can
// be compared.
func (o *ownBlocks) count(kind, info, file string, line int) {
	name := kind
	switch kind {
	case "table", "demo", "given":
		name += " " + info
	case "callout": // the rest of info is its title
		for _, k := range calloutKinds() {
			if len(info) >= len(k) && info[:len(k)] == k {
				name += " " + k
			}
		}
	}
	n := 1
	for slices.ContainsFunc(o.shapes, func(u Used) bool { return u.Key == ordinal(name, n) }) {
		n++
	}
	o.shapes = append(o.shapes, Used{Place: Place{file, line, 1}, Key: ordinal(name, n)})
}

func ordinal(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s (number %d of its kind)", name, n)
}

// unshown tells what is declared and not shown: languages show the same.
func (s source) unshown(have ownBlocks, bad *faults) {
	all := s.sharedWords()
	for kind, ids := range map[string][]string{"table": keys(s.shared.Tables), "demo": keys(s.shared.Demos)} {
		for _, id := range slices.Sorted(slices.Values(ids)) {
			if !have.shown[kind+" "+id] {
				p := all.place(kind+"s", id)
				bad.at(s.file, begin(), fmt.Errorf("%s %s is declared at %s:%d and not shown here", kind, id, s.sharedFile, p.line))
			}
		}
	}
}
