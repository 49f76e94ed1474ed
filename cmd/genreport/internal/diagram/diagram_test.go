package diagram

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
)

const hostile = `</ScRiPt><img src=x onerror=alert(1)> "q" 'q' <!-- & ` + "\u2028"

func sample(text string) Diagram {
	d := Diagram{ID: "demo-x", Colon: ": ", Words: map[State]string{Active: "active", Blocked: "blocked", Closed: "closed"}}
	for i, k := range Kinds() {
		b := Box{ID: k, Name: text, Kind: k, At: Cell{1 + i%4, 1 + i/4}}
		b.To = b.At
		if k == Group {
			b.At, b.To = Cell{1, 1}, Cell{2, 1}
		}
		d.Boxes = append(d.Boxes, b)
	}
	d.Links = []Link{{"there", "client", "consumer"}, {"back", "consumer", "client"}, {"down", "client", "queue"}, {"aslant", "process", "channel"}}
	d.Steps = []Step{
		{Title: text, Description: text, Looks: map[string]Look{"client": {State: Blocked, Label: text}, "queue": {State: Closed}, "there": {State: Active, Label: text, Messages: []string{text, ""}},
			"down": {State: Blocked, Label: text, Messages: []string{"1"}}, "aslant": {State: Closed, Label: text}}},
		{Title: "two", Looks: map[string]Look{"consumer": {State: Absent}}},
	}
	return d
}

// pieces are the elements and the text of well-formed XML.
func pieces(t *testing.T, svg string) (elements []xml.StartElement, text []string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return elements, text
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		switch x := token.(type) {
		case xml.StartElement:
			elements = append(elements, x.Copy())
		case xml.CharData:
			text = append(text, string(x))
		}
	}
}

func TestPictureIsSafeAndComplete(t *testing.T) {
	for _, upright := range []bool{false, true} {
		d := sample(hostile)
		svg := d.SVG(0, upright)
		elements, text := pieces(t, svg)
		for _, e := range elements {
			switch e.Name.Local {
			case "svg", "title", "desc", "g", "rect", "path", "text":
			default:
				t.Errorf("a picture has <%s>", e.Name.Local)
			}
			for _, a := range e.Attr {
				if a.Name.Local == "style" || a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("<%s %s>", e.Name.Local, a.Name.Local)
				}
			}
		}
		all := strings.Join(text, "\n")
		for _, want := range []string{hostile, "blocked", "closed"} {
			if !strings.Contains(all, want) {
				t.Errorf("upright %v: %q is not shown", upright, want)
			}
		}
		for _, want := range []string{`class="box client blocked"`, `class="link active"`, `class="link closed"`, `class="bar"`, `class="cross"`, `class="message"`, `class="fold"`} {
			if !strings.Contains(svg, want) {
				t.Errorf("upright %v: no %s", upright, want)
			}
		}
		if strings.Contains(d.SVG(1, upright), `class="box consumer`) {
			t.Error("what is absent is drawn")
		}
	}
}

// Everything lies within the picture, and all steps have the same size.
func TestPictureHoldsAll(t *testing.T) {
	for _, upright := range []bool{false, true} {
		d := sample("a name of several words")
		var box string
		for i := range d.Steps {
			svg := d.SVG(i, upright)
			elements, _ := pieces(t, svg)
			view := attr(elements[0], "viewBox")
			if box != "" && view != box {
				t.Errorf("steps are %s and %s", box, view)
			}
			box = view
			size := strings.Fields(view)
			w, h := number(t, size[2]), number(t, size[3])
			for _, e := range elements {
				if e.Name.Local != "rect" {
					continue
				}
				x, y := number(t, attr(e, "x")), number(t, attr(e, "y"))
				if x < 0 || y < 0 || x+number(t, attr(e, "width")) > w || y+number(t, attr(e, "height")) > h {
					t.Errorf("upright %v: %v lies outside of %s", upright, e.Attr, view)
				}
			}
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A reader who can't see it hears who does what, and nothing of who does nothing.
func TestDescription(t *testing.T) {
	d := Diagram{ID: "d", Colon: ": ", Words: map[State]string{Active: "active", Blocked: "blocked"},
		Boxes: []Box{{"a", "App", "client", Cell{1, 1}, Cell{1, 1}}, {"q", "Queue", "queue", Cell{2, 1}, Cell{2, 1}}, {"z", "Idler", "queue", Cell{2, 1}, Cell{2, 1}}},
		Links: []Link{{"l", "a", "q"}},
		Steps: []Step{{Title: "T", Description: "D.", Looks: map[string]Look{"q": {State: Blocked, Label: "1,000"}, "l": {State: Active, Messages: []string{"1", "2"}}}}}}
	_, text := pieces(t, d.SVG(0, false))
	if want := "D.\nQueue: 1,000 · blocked\nApp → Queue: active · 1 2"; text[1] != want {
		t.Errorf("%q, want %q", text[1], want)
	}
}

// A status of three digits stands in its mark as it is; what is no status is squeezed.
func TestMarksHoldTheirText(t *testing.T) {
	for text, squeezed := range map[string]bool{"1": false, "202": false, "Service Unavailable": true} {
		for _, upright := range []bool{false, true} {
			d := sample("x")
			d.Steps = []Step{{Title: "T", Looks: map[string]Look{"down": {State: Active, Messages: []string{text}}}}}
			elements, _ := pieces(t, d.SVG(0, upright))
			found := 0
			for _, e := range elements {
				a := map[string]string{}
				for _, at := range e.Attr {
					a[at.Name.Local] = at.Value
				}
				if _, has := a["textLength"]; a["class"] == "mark-text" {
					found++
					if has != squeezed {
						t.Errorf("%q squeezed: %v, want %v (upright %v)", text, has, squeezed, upright)
					}
				}
				if w, _ := strconv.ParseFloat(a["width"], 64); a["class"] == "message" && w > 30 {
					t.Errorf("the mark of %q is %v wide", text, w)
				}
			}
			if found != 1 {
				t.Errorf("%q: %d marks have a text", text, found)
			}
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		room float64
		want string
	}{
		{"one two", 1000, "one two"},
		{"one two", 30, "one|two"},
		{"仲裁队列", 30, "仲裁|队列"},
		{"队列\uff0c满", 30, "队|列\uff0c|满"},
		{"发布者的 channel", 60, "发布者的|channel"},
		{"unbreakable", 5, "unbreakable"},
		{"", 5, ""},
	} {
		if got := strings.Join(wrap(c.text, c.room, 13), "|"); got != c.want {
			t.Errorf("%q in %v: %s, want %s", c.text, c.room, got, c.want)
		}
	}
}

func TestColon(t *testing.T) {
	d := Diagram{ID: "d", Colon: "\uff1a", Words: map[State]string{Active: "工作中"},
		Boxes: []Box{{"c", "客户端", "client", Cell{1, 1}, Cell{1, 1}}, {"q", "队列", "queue", Cell{2, 1}, Cell{2, 1}}}, Links: []Link{{"l", "c", "q"}},
		Steps: []Step{{Title: "一", Looks: map[string]Look{"c": {State: Active}, "l": {State: Active}}}}}
	if svg := d.SVG(0, false); !strings.Contains(svg, ">客户端\uff1a工作中\n客户端 → 队列\uff1a工作中</desc>") {
		t.Error(svg)
	}
}
