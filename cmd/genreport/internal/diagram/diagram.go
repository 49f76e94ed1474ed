// Package diagram draws the pictures of a step-by-step demonstration as SVG:
// boxes in columns and rows, and links between them. A picture has no style, no
// script and no reference to anything outside: the page's style sheet colours it
// by class. What state a box or a link is in shows in its line and in words, not
// in its colour alone.
package diagram

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// State is what a box or a link does in a step.
type State string

// The states. What is absent is not drawn.
const (
	Idle    State = "idle"
	Active  State = "active"
	Blocked State = "blocked"
	Closed  State = "closed"
	Absent  State = "absent"
)

// States are all of them.
func States() []State { return []State{Idle, Active, Blocked, Closed, Absent} }

// Group is the kind of a box that others stand in.
const Group = "group"

// Kinds are what a box may be.
func Kinds() []string {
	return []string{"client", "consumer", "server", "process", "connection", "channel", "exchange", "queue", "disk", "database", Group}
}

// Cell is a place in the grid, from 1.
type Cell struct{ Column, Row int }

// Box is a thing. It takes the cells from At to To.
type Box struct {
	ID, Name, Kind string
	At, To         Cell
}

// Link leads from one box to another.
type Link struct{ ID, From, To string }

// Look is how a box or a link is in a step.
type Look struct {
	State    State
	Label    string   // a counter or what passes, as text
	Messages []string // of a link: one mark for each that is on its way, with its text
}

// Step is one picture.
type Step struct {
	Title, Description string
	Looks              map[string]Look // by id; what isn't there is idle
}

// Diagram is what all steps of a demonstration share, and the steps.
type Diagram struct {
	ID    string
	Boxes []Box
	Links []Link
	Steps []Step
	Words map[State]string // of the states, in the page's language
	Colon string           // between a thing and its state, with the space that the language has behind it
}

const (
	nameSize  = 13.0
	labelSize = 11.5
	lineStep  = 15.0
)

// drawing is one picture that is being made.
type drawing struct {
	Diagram
	step    Step
	upright bool
	width   float64
	height  float64
	top     float64
	pitchX  float64
	pitchY  float64
	boxW    float64
	boxH    float64
	b       strings.Builder
}

// SVG draws a step, counted from 0. An upright picture has columns and rows
// swapped and suits a phone. All steps of a diagram have the same size.
func (d Diagram) SVG(step int, upright bool) string {
	w := &drawing{Diagram: d, step: d.Steps[step], upright: upright}
	w.layout()
	id := fmt.Sprintf("%s-%d-wide", d.ID, step+1)
	if upright {
		id = fmt.Sprintf("%s-%d-narrow", d.ID, step+1)
	}
	fmt.Fprintf(&w.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-title" aria-describedby="%s-desc">`,
		num(w.width), num(w.height), esc(id), esc(id))
	fmt.Fprintf(&w.b, `<title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`, esc(id), esc(w.step.Title), esc(id), esc(w.description()))
	for _, box := range w.Boxes {
		if box.Kind == Group {
			w.group(box)
		}
	}
	for i := range w.Links {
		w.link(i)
	}
	for _, box := range w.Boxes {
		if box.Kind != Group {
			w.box(box)
		}
	}
	w.b.WriteString("</svg>")
	return w.b.String()
}

// description is the step's, and what is in which state.
func (w *drawing) description() string {
	parts := []string{w.step.Description}
	name := map[string]string{}
	for _, b := range w.Boxes {
		name[b.ID] = b.Name
		look := w.look(b.ID)
		if look.State == Absent || look.State == Idle && look.Label == "" {
			continue
		}
		parts = append(parts, b.Name+w.Colon+w.said(look))
	}
	for _, l := range w.Links {
		look := w.look(l.ID)
		if look.State == Absent || w.look(l.From).State == Absent || w.look(l.To).State == Absent || look.State == Idle && look.Label == "" {
			continue
		}
		parts = append(parts, name[l.From]+" → "+name[l.To]+w.Colon+w.said(look))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

func (w *drawing) said(l Look) string {
	var parts []string
	if l.Label != "" {
		parts = append(parts, l.Label)
	}
	if l.State != Idle {
		parts = append(parts, w.Words[l.State])
	}
	if marks := slices.DeleteFunc(slices.Clone(l.Messages), func(s string) bool { return s == "" }); len(marks) > 0 {
		parts = append(parts, strings.Join(marks, " "))
	}
	return strings.Join(parts, " · ")
}

func (w *drawing) look(id string) Look {
	l := w.step.Looks[id]
	if l.State == "" {
		l.State = Idle
	}
	return l
}

// layout finds the sizes, which the steps share.
func (w *drawing) layout() {
	columns, rows := 1, 1
	w.Boxes = slices.Clone(w.Boxes)
	for i := range w.Boxes {
		if b := &w.Boxes[i]; w.upright {
			b.At, b.To = Cell{b.At.Row, b.At.Column}, Cell{b.To.Row, b.To.Column}
		}
		columns, rows = max(columns, w.Boxes[i].To.Column), max(rows, w.Boxes[i].To.Row)
	}
	w.width, w.top = 720, 6
	gap := 34.0
	if w.upright {
		w.width, gap = 352, 44
	}
	w.pitchX = w.width / float64(columns)
	if w.upright {
		w.boxW = min(w.pitchX-14, 128)
	} else {
		w.boxW = min(max(w.pitchX*.62, w.pitchX-100), 136)
	}
	lines := 2
	for _, s := range w.Steps {
		for _, b := range w.Boxes {
			if b.Kind == Group {
				if b.At.Row == 1 {
					w.top = 24
				}
				if w.upright { // its name stands where labels of links do
					gap = 58
				}
				continue
			}
			l := s.Looks[b.ID]
			if l.State == "" {
				l.State = Idle
			}
			if l.State == Absent {
				continue
			}
			head, tail := w.lines(b, l)
			lines = max(lines, len(head)+len(tail))
		}
	}
	w.boxH = lineStep*float64(lines) + 16
	w.pitchY = w.boxH + gap
	w.height = w.top + float64(rows)*w.pitchY - gap + 14
}

// lines are those of a box: its name, and its counter and state.
func (w *drawing) lines(b Box, l Look) (head, tail []string) {
	x0, _, x1, _ := w.rect(b)
	room := x1 - x0 - 12
	switch b.Kind {
	case "queue":
		room -= 14
	case "exchange", "connection":
		room -= 6
	}
	head = wrap(b.Name, room, nameSize)
	if l.Label != "" {
		tail = wrap(l.Label, room, labelSize)
	}
	if l.State == Blocked || l.State == Closed {
		tail = append(tail, wrap(w.Words[l.State], room, labelSize)...)
	}
	return head, tail
}

// rect is where a box stands: left, top, right, bottom.
func (w *drawing) rect(b Box) (x0, y0, x1, y1 float64) {
	side := (w.pitchX - w.boxW) / 2
	x0 = float64(b.At.Column-1)*w.pitchX + side
	x1 = float64(b.To.Column)*w.pitchX - side
	y0 = w.top + float64(b.At.Row-1)*w.pitchY
	y1 = w.top + float64(b.To.Row-1)*w.pitchY + w.boxH
	return x0, y0, x1, y1
}

func (w *drawing) group(b Box) {
	look := w.look(b.ID)
	if look.State == Absent {
		return
	}
	x0, y0, x1, y1 := w.rect(b)
	side := min((w.pitchX-w.boxW)/2-1, 14)
	x0, y0, x1, y1 = x0-side, y0-21, x1+side, y1+8
	fmt.Fprintf(&w.b, `<g class="group %s"><rect x="%s" y="%s" width="%s" height="%s" rx="8"/>`, look.State, num(x0), num(y0), num(x1-x0), num(y1-y0))
	w.text("group-name", b.Name, x0+10, y0+14, "start", x1-x0-16, labelSize)
	w.b.WriteString(`</g>`)
}

func (w *drawing) box(b Box) {
	look := w.look(b.ID)
	if look.State == Absent {
		return
	}
	x0, y0, x1, y1 := w.rect(b)
	fmt.Fprintf(&w.b, `<g class="box %s %s">`, esc(b.Kind), look.State)
	middle, shift := (x0+x1)/2, 0.0
	switch b.Kind {
	case "disk", "database":
		const ry = 6
		fmt.Fprintf(&w.b, `<path class="shape" d="M%s %sv%sa%s %d 0 0 0 %s 0v%sa%s %d 0 0 0 %s 0z"/>`, num(x0), num(y0+ry), num(y1-y0-2*ry), num((x1-x0)/2), ry, num(x1-x0), num(-(y1 - y0 - 2*ry)), num((x1-x0)/2), ry, num(-(x1 - x0)))
		fmt.Fprintf(&w.b, `<path class="inner" d="M%s %sa%s %d 0 0 0 %s 0"/>`, num(x0), num(y0+ry), num((x1-x0)/2), ry, num(x1-x0))
		shift = 4
	case "exchange":
		const cut = 10
		fmt.Fprintf(&w.b, `<path class="shape" d="M%s %sH%sL%s %sL%s %sH%sL%s %sz"/>`, num(x0+cut), num(y0), num(x1-cut), num(x1), num((y0+y1)/2), num(x1-cut), num(y1), num(x0+cut), num(x0), num((y0+y1)/2))
	default:
		rx := map[string]float64{"connection": 22, "channel": 12, "queue": 3, "process": 3}[b.Kind]
		if rx == 0 {
			rx = 6
		}
		fmt.Fprintf(&w.b, `<rect class="shape" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`, num(x0), num(y0), num(x1-x0), num(y1-y0), num(min(rx, (y1-y0)/2)))
		if b.Kind == "queue" {
			for i := range 3 {
				fmt.Fprintf(&w.b, `<path class="inner" d="M%s %sv%s"/>`, num(x1-6-5*float64(i)), num(y0), num(y1-y0))
			}
			middle -= 8
		}
	}
	if look.State == Closed {
		fmt.Fprintf(&w.b, `<path class="cross" d="M%s %sl9 9m0 -9l-9 9"/>`, num(x1-13), num(y0+4))
	}
	head, tail := w.lines(b, look)
	room := x1 - x0 - 8
	y := (y0+y1)/2 + shift - lineStep*float64(len(head)+len(tail))/2 + 11
	for _, line := range head {
		w.text("name", line, middle, y, "middle", room, nameSize)
		y += lineStep
	}
	for _, line := range tail {
		w.text("label", line, middle, y, "middle", room, labelSize)
		y += lineStep
	}
	w.b.WriteString(`</g>`)
}

// text writes a line; one that is too long is squeezed rather than cut.
func (w *drawing) text(class, s string, x, y float64, anchor string, room, size float64) {
	squeeze := ""
	if measured(s, size) > room {
		squeeze = fmt.Sprintf(` textLength="%s" lengthAdjust="spacingAndGlyphs"`, num(room))
	}
	if anchor != "start" {
		anchor = ` text-anchor="` + anchor + `"`
	} else {
		anchor = ""
	}
	fmt.Fprintf(&w.b, `<text class="%s" x="%s" y="%s" font-size="%s"%s%s>%s</text>`, class, num(x), num(y), num(size), anchor, squeeze, esc(s))
}

// ends are where a link begins and ends, at the borders of its boxes.
func (w *drawing) ends(from, to Box) (ax, ay, bx, by float64) {
	a0, a1, a2, a3 := w.rect(from)
	b0, b1, b2, b3 := w.rect(to)
	overlap := func(a0, a1, b0, b1 float64) (float64, bool) {
		low, high := max(a0, b0), min(a1, b1)
		return (low + high) / 2, high-low > 20
	}
	if y, ok := overlap(a1, a3, b1, b3); ok {
		if a2 <= b0 {
			return a2, y, b0, y
		}
		return a0, y, b2, y
	}
	if x, ok := overlap(a0, a2, b0, b2); ok {
		if a3 <= b1 {
			return x, a3, x, b1
		}
		return x, a1, x, b3
	}
	// Aslant: between the middles of the sides that face each other.
	if w.upright {
		ax, bx = (a0+a2)/2, (b0+b2)/2
		if a3 <= b1 {
			return ax, a3, bx, b1
		}
		return ax, a1, bx, b3
	}
	ay, by = (a1+a3)/2, (b1+b3)/2
	if a2 <= b0 {
		return a2, ay, b0, by
	}
	return a0, ay, b2, by
}

func (w *drawing) link(i int) {
	l := w.Links[i]
	look := w.look(l.ID)
	if look.State == Absent || w.look(l.From).State == Absent || w.look(l.To).State == Absent {
		return
	}
	find := func(id string) Box {
		return w.Boxes[slices.IndexFunc(w.Boxes, func(b Box) bool { return b.ID == id })]
	}
	ax, ay, bx, by := w.ends(find(l.From), find(l.To))
	length := math.Hypot(bx-ax, by-ay)
	ux, uy := (bx-ax)/length, (by-ay)/length
	// Links between the same two boxes keep to their right-hand side.
	paired := false
	for k, o := range w.Links {
		if k != i && (o.From == l.To && o.To == l.From) {
			paired = true
		}
	}
	nx, ny := uy, -ux
	if paired {
		const side = 8
		ax, ay, bx, by = ax+nx*side, ay+ny*side, bx+nx*side, by+ny*side
	}
	fmt.Fprintf(&w.b, `<g class="link %s">`, look.State)
	const head = 8
	fmt.Fprintf(&w.b, `<path class="line" d="M%s %sL%s %s"/>`, num(ax+ux*2), num(ay+uy*2), num(bx-ux*head), num(by-uy*head))
	fmt.Fprintf(&w.b, `<path class="head" d="M%s %sL%s %sL%s %sz"/>`, num(bx-ux), num(by-uy),
		num(bx-ux*(head+1)+nx*4.5), num(by-uy*(head+1)+ny*4.5), num(bx-ux*(head+1)-nx*4.5), num(by-uy*(head+1)-ny*4.5))
	mx, my := (ax+bx)/2, (ay+by)/2
	switch {
	case look.State == Closed:
		fmt.Fprintf(&w.b, `<path class="cross" d="M%s %sl10 10m0 -10l-10 10"/>`, num(mx-5), num(my-5))
	case look.State == Blocked: // two bars across the line
		for _, o := range []float64{-3, 3} {
			x, y := ax+ux*(barAt(look, length)+o), ay+uy*(barAt(look, length)+o)
			fmt.Fprintf(&w.b, `<path class="bar" d="M%s %sL%s %s"/>`, num(x+nx*7), num(y+ny*7), num(x-nx*7), num(y-ny*7))
		}
	}
	w.messages(look, ax, ay, ux, uy, math.Hypot(bx-ax, by-ay))
	if look.Label != "" {
		w.linkLabel(look, mx, my, nx, ny, length, paired)
	}
	w.b.WriteString(`</g>`)
}

// barAt is how far along a blocked link the bars are.
func barAt(look Look, length float64) float64 {
	if len(look.Messages) > 0 {
		return length * .72
	}
	return length / 2
}

// messages are marks along a link, the first of them farthest.
func (w *drawing) messages(look Look, ax, ay, ux, uy, length float64) {
	n := len(look.Messages)
	if n == 0 {
		return
	}
	wide := 15.0
	for _, text := range look.Messages {
		wide = max(wide, min(measured(text, 10)+6, 30)) // a status, not a sentence
	}
	const high = 13.0
	step := wide + 3
	if math.Abs(uy) > math.Abs(ux) {
		step = high + 2
	}
	if n > 1 {
		step = min(step, (length-22)/float64(n-1))
	}
	for k, text := range look.Messages {
		at := length/2 - 3 + step*(float64(n-1)/2-float64(k))
		if look.State == Blocked { // they wait before the bars
			at = barAt(look, length) - 14 - step*float64(k)
		}
		x, y := ax+ux*at, ay+uy*at
		fmt.Fprintf(&w.b, `<rect class="message" x="%s" y="%s" width="%s" height="%s" rx="2"/>`, num(x-wide/2), num(y-high/2), num(wide), num(high))
		if text == "" {
			fmt.Fprintf(&w.b, `<path class="fold" d="M%s %sl%s 5l%s -5"/>`, num(x-wide/2+1), num(y-high/2+1.5), num(wide/2-1), num(wide/2-1))
		} else {
			w.text("mark-text", text, x, y+3.6, "middle", wide-2, 10)
		}
	}
}

// linkLabel stands beside a link, on its right-hand side where two run in parallel.
func (w *drawing) linkLabel(look Look, mx, my, nx, ny, length float64, paired bool) {
	away := 6.0
	if len(look.Messages) > 0 || look.State == Blocked || look.State == Closed {
		away = 11
	}
	if math.Abs(nx) > .7 { // it runs down or up
		lines := wrap(look.Label, max(w.pitchX/2-12, 52), labelSize)
		x, anchor := mx+away+2, "start"
		if paired && nx < 0 {
			x, anchor = mx-away-2, "end"
		}
		for i, line := range lines {
			w.text("label", line, x, my+4+lineStep*(float64(i)-float64(len(lines)-1)/2), anchor, w.pitchX-16, labelSize)
		}
		return
	}
	lines := wrap(look.Label, max(length-4, 60), labelSize)
	for i, line := range lines {
		y := my - away - lineStep*float64(len(lines)-1-i)
		if paired && ny > 0 {
			y = my + away + 9 + lineStep*float64(i)
		}
		w.text("label", line, mx, y, "middle", max(length+30, 60), labelSize)
	}
}

// wrap breaks text at spaces and between Han characters.
func wrap(s string, room, size float64) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
		if line != "" && measured(strings.TrimRight(line+word, " "), size) > room {
			lines = append(lines, strings.TrimRight(line, " "))
			line = ""
		}
		line += word
	}
	if line = strings.TrimRight(line, " "); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words are the pieces between which a line may break.
func words(s string) []string {
	var out []string
	word := ""
	flush := func() {
		if word != "" {
			out = append(out, word)
			word = ""
		}
	}
	for _, r := range s {
		switch {
		case r == ' ' || r == '\n':
			word += " "
			flush()
		case isHan(r):
			flush()
			word = string(r)
		case isWide(r): // punctuation stays with what is before it
			if word == "" && len(out) > 0 {
				out[len(out)-1] += string(r)
			} else {
				word += string(r)
			}
		default:
			if word != "" && isHan([]rune(word)[0]) {
				flush()
			}
			word += string(r)
		}
	}
	flush()
	return out
}

func isHan(r rune) bool  { return r >= 0x2E80 && r < 0x3000 || r >= 0x3400 && r < 0xFF00 }
func isWide(r rune) bool { return r >= 0x2E80 }

// measured is how wide a text will be, about: no font is at hand.
func measured(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case isWide(r):
			w++
		case strings.ContainsRune("iljI.,:;|!'·()[] ", r):
			w += .3
		case strings.ContainsRune("mwMW@%", r):
			w += .88
		case r >= 'A' && r <= 'Z':
			w += .67
		default:
			w += .57
		}
	}
	return w * size
}

func num(x float64) string {
	s := strconv.FormatFloat(x, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

func esc(s string) string { return html.EscapeString(s) }
