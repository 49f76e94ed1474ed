package article

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"genreport/cmd/genreport/internal/claim"
	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// claimDeclared is a statement about results, in SLUG.yaml. Its wording is in the
// Markdown of each language, one for each verdict.
type claimDeclared struct {
	Is         string         `yaml:"is"` // a kind, see claimKinds
	Experiment string         `yaml:"experiment"`
	Metric     string         `yaml:"metric"`
	Where      measure.Labels `yaml:"where"`  // labels that all its cases have
	Case       measure.Labels `yaml:"case"`   // greater, less, same: what is compared …
	Than       measure.Labels `yaml:"than"`   // … and with what
	Factor     float64        `yaml:"factor"` // greater, less: than so many times that; default 1
	Over       string         `yaml:"over"`   // flat, rising, falling, stops: the label over which
	Values     []string       `yaml:"values"` // its values, if not all
	At         string         `yaml:"at"`     // stops: the value from which it rises no more
	Within     float64        `yaml:"within"` // same, flat, stops: the share that counts as no difference
	Low        *float64       `yaml:"low"`    // between: in the metric's base unit
	High       *float64       `yaml:"high"`
	Per        string         `yaml:"per"`    // divide by this label's number
	Every      []string       `yaml:"every"`  // it must hold on each of these brokers
	From       string         `yaml:"from"`   // it must hold on this broker and all newer ones
	Expect     claim.Verdict  `yaml:"expect"` // the verdict that the article is written for; default holds
}

func claimKinds() []string {
	return []string{"greater", "less", "same", "flat", "rising", "falling", "stops", "between"}
}

// Claim is a statement of a page, and what the results say of it.
type Claim struct {
	ID       string        // the target of its marks
	Name     string        // in SLUG.yaml
	Tested   string        // the predicate, in words
	Sentence template.HTML // as the page says it; "" where it only chooses words
	Verdict  claim.Verdict
	Expect   claim.Verdict
	Said     string     // the verdict in the page's language, with the reason of an open one
	Numbers  string     // what decided it; may be ""
	Missing  bool       // it is undecided for want of numbers
	Evidence []Link     // its cases, on the page
	Place               // where it is declared
	Uses     []ClaimUse // in the text, in order
}

// ClaimUse is a place where a claim chose what the text says.
type ClaimUse struct {
	Place
	Text string // what it says with this verdict
}

// claimOf decides a claim, once for a page.
func (r *resolver) claimOf(id string) (*Claim, error) {
	for i := range r.claims {
		if r.claims[i].Name == id {
			return r.claims[i], nil
		}
	}
	d, ok := r.declaredClaims[id]
	if !ok {
		return nil, wrong(unknown("claim", id, keys(r.declaredClaims)), "metric")
	}
	if err := r.faulty[id]; err != nil { // told at its declaration
		return nil, errFaulty
	}
	c := &Claim{ID: claimAnchor(id), Name: id, Expect: cmp.Or(d.Expect, claim.Holds), Tested: r.predicate(d)}
	decision, err := r.decide(d, c)
	if err != nil { // it stands where the claim is declared, not where it is used
		r.faulty[id] = err
		return nil, fault{r.shared.file, r.shared.placeOf(err, "claims", id), fmt.Errorf("claim %s: %w", id, err)}
	}
	c.Verdict, c.Missing = decision.Verdict, decision.Why == claim.Missing
	c.Said = verdictWords(r.lang, decision)
	if decision.Low != 0 || decision.High != 0 {
		c.Numbers = r.numbers(d, decision)
	}
	r.claims = append(r.claims, c)
	return c, nil
}

// errFaulty is of a claim whose declaration is wrong, which has been told.
var errFaulty = errors.New("its declaration is wrong")

func claimAnchor(id string) string { return "c-" + id }

// check refuses a declaration that can't be decided, whatever is measured.
func (d claimDeclared) check(r *resolver) error {
	known, ok := r.data.catalog[d.Experiment]
	if !ok {
		return wrong(unknown("experiment", d.Experiment, keys(r.data.catalog)), "experiment")
	}
	if _, ok := known.Metrics[d.Metric]; !ok {
		return wrong(unknown("metric", d.Metric, keys(known.Metrics)), "metric")
	}
	if !slices.Contains(claimKinds(), d.Is) {
		return wrong(unknown("kind of claim", d.Is, claimKinds()), "is")
	}
	if d.Expect != "" && !slices.Contains(claim.Verdicts(), d.Expect) {
		return wrong(unknown("verdict to expect", string(d.Expect), []string{"holds", "fails", "undecided"}), "expect")
	}
	for _, labels := range []struct {
		key string
		of  measure.Labels
	}{{"where", d.Where}, {"case", d.Case}, {"than", d.Than}} {
		err := r.checkLabels(known, d.Experiment, labels.of)
		if e, ok := errors.AsType[partError](err); ok {
			return wrong(e.err, e.part[0], labels.key, e.part[1])
		}
	}
	pairs := slices.Contains([]string{"greater", "less", "same"}, d.Is)
	series := slices.Contains([]string{"flat", "rising", "falling", "stops"}, d.Is)
	tolerance := slices.Contains([]string{"same", "flat", "stops"}, d.Is)
	between := d.Is == "between"
	for _, rule := range []struct {
		name           string
		given, allowed bool
		needed         bool
	}{
		{"case", d.Case != nil, pairs || between, pairs},
		{"than", d.Than != nil, pairs, pairs},
		{"factor", d.Factor != 0, d.Is == "greater" || d.Is == "less", false},
		{"over", d.Over != "", series, series},
		{"values", d.Values != nil, series, false},
		{"at", d.At != "", d.Is == "stops", d.Is == "stops"},
		{"within", d.Within != 0, tolerance, d.Is == "flat" || d.Is == "stops"},
		{"low", d.Low != nil, between, between},
		{"high", d.High != nil, between, between},
	} {
		switch {
		case rule.given && !rule.allowed:
			return wrong(fmt.Errorf("a claim that something is %s takes no %s", d.Is, rule.name), rule.name)
		case rule.needed && !rule.given:
			return fmt.Errorf("a claim that something is %s needs %s", d.Is, rule.name)
		}
	}
	if d.Factor < 0 || d.Within < 0 || d.Within > 10 {
		return errors.New("factor and within are shares above 0: within: 0.1 is a tenth")
	}
	if between && *d.Low > *d.High {
		return wrong(fmt.Errorf("low is %v and high %v", *d.Low, *d.High), "low")
	}
	if d.Every != nil && d.From != "" {
		return wrong(errors.New("every and from exclude each other"), "from")
	}
	for i, alias := range append([]string{d.From}, d.Every...) {
		part := []string{"from"}
		if i > 0 {
			part = []string{"every", strconv.Itoa(i - 1)}
		}
		if _, ok := r.brokers[alias]; alias != "" && !ok {
			return wrong(unknown("broker alias", alias, keys(r.brokers)), part...)
		}
	}
	if series {
		values := r.values(known, d.Over)
		if len(values) == 0 {
			return wrong(unknown("label", d.Over, append(known.labels(), brokerLabel)), "over")
		}
		for i, v := range d.Values {
			if !slices.Contains(values, v) {
				return wrong(fmt.Errorf("label %s: %w", d.Over, unknown("value", v, values)), "values", strconv.Itoa(i))
			}
		}
		if d.Values != nil {
			values = d.Values
		}
		if len(values) < 2 {
			return wrong(fmt.Errorf("over %s there is one case, and nothing to compare", d.Over), "over")
		}
		if d.At != "" && !slices.Contains(values, d.At) {
			return wrong(fmt.Errorf("at: %w", unknown("value", d.At, values)), "at")
		}
		if d.At == values[len(values)-1] {
			return wrong(fmt.Errorf("at is the last value of %s: nothing comes after it", d.Over), "at")
		}
	}
	return nil
}

// decide looks up the claim's cases and lets package claim decide.
func (r *resolver) decide(d claimDeclared, c *Claim) (claim.Decision, error) {
	aliases := d.Every
	if d.From != "" {
		all := r.values(Known{}, brokerLabel)
		aliases = all[slices.Index(all, d.From):]
	}
	if aliases == nil {
		aliases = []string{""}
	}
	var all []claim.Decision
	for _, alias := range aliases {
		one, err := r.decideOn(d, alias, c)
		if err != nil {
			return one, err
		}
		all = append(all, one)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return claim.All(all), nil
}

func (r *resolver) decideOn(d claimDeclared, alias string, c *Claim) (claim.Decision, error) {
	base := maps.Clone(d.Where)
	if alias != "" {
		base = overlay(base, measure.Labels{brokerLabel: alias})
	}
	cell := func(labels measure.Labels) (claim.Cell, error) {
		out, anchor, err := r.claimCell(d, overlay(base, labels))
		out.Name = r.caseName(labels, alias)
		if anchor != "" && !slices.ContainsFunc(c.Evidence, func(l Link) bool { return l.Href == "#"+anchor }) {
			c.Evidence = append(c.Evidence, Link{Href: "#" + anchor, Text: out.Name})
		}
		return out, err
	}
	switch d.Is {
	case "greater", "less", "same":
		b, err := cell(d.Case)
		if err != nil {
			return claim.Decision{}, err
		}
		a, err := cell(d.Than)
		if err != nil {
			return claim.Decision{}, err
		}
		return r.judge(d, 0, b, a), nil
	case "between":
		one, err := cell(d.Case)
		if err != nil {
			return claim.Decision{}, err
		}
		return r.judge(d, 0, one), nil
	}
	values := d.Values
	if values == nil {
		values = r.values(r.data.catalog[d.Experiment], d.Over)
	}
	var cells []claim.Cell
	for _, v := range values {
		one, err := cell(measure.Labels{d.Over: v})
		if err != nil {
			return claim.Decision{}, err
		}
		cells = append(cells, one)
	}
	return r.judge(d, slices.Index(values, d.At), cells...), nil
}

// judge decides about cells: of a pair the first is compared with the second. at is
// the index from which a claim that stops does so.
func (r *resolver) judge(d claimDeclared, at int, cells ...claim.Cell) claim.Decision {
	factor, low, high := cmp.Or(d.Factor, 1), 0.0, 0.0
	if d.Is == "between" {
		low, high = *d.Low, *d.High
	}
	switch d.Is {
	case "greater":
		return claim.Greater(cells[1], cells[0], factor)
	case "less":
		return claim.Less(cells[1], cells[0], factor)
	case "same":
		return claim.Same(cells[1], cells[0], d.Within)
	case "between":
		return claim.Between(cells[0], low, high)
	case "flat":
		return claim.Flat(cells, d.Within)
	case "rising":
		return claim.Rising(cells)
	case "falling":
		return claim.Falling(cells)
	}
	return claim.Stops(cells, at, d.Within)
}

// claimCell is the samples of one case. An error is a wrong declaration.
func (r *resolver) claimCell(d claimDeclared, labels measure.Labels) (cell claim.Cell, anchor string, err error) {
	known := r.data.catalog[d.Experiment]
	metric := known.Metrics[d.Metric]
	found, err := r.oneCase(known, d.Experiment, labels)
	if err != nil || found.missing != "" {
		return claim.Cell{Missing: found.missing}, "", err
	}
	_, run, _ := r.data.find(d.Experiment, found.labels[brokerLabel])
	cell = claim.Cell{Exact: metric.Exact, Run: run.ID}
	cell.Drift, _ = run.Drift()
	by := 1.0
	if d.Per != "" {
		if by, err = labelNumber(found.labels, d.Per); err != nil {
			return cell, "", err
		}
	}
	samples, reasons := found.samples(d.Metric)
	for _, x := range samples {
		cell.Samples = append(cell.Samples, x/by)
	}
	cell.Missing = strings.Join(reasons, "; ")
	return cell, r.cite(d.Experiment, found.group, d.Metric), nil
}

// caseName tells a case from the others of its claim.
func (r *resolver) caseName(labels measure.Labels, alias string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if k == brokerLabel {
			parts = append(parts, "RabbitMQ "+r.valueText(k, labels[k]))
		} else {
			parts = append(parts, k+"="+labelText(labels[k]))
		}
	}
	if _, named := labels[brokerLabel]; alias != "" && !named {
		parts = append(parts, "RabbitMQ "+r.valueText(brokerLabel, alias))
	}
	return strings.Join(parts, ", ")
}

// predicate is what is tested, in the page's language.
func (r *resolver) predicate(d claimDeclared) string {
	zh := r.lang == "zh"
	about := d.Metric + " · " + d.Experiment
	if len(d.Where) > 0 {
		about += " · " + r.caseName(d.Where, "")
	}
	if d.Per != "" {
		about += " / " + d.Per
	}
	a, b := r.caseName(d.Case, ""), r.caseName(d.Than, "")
	factor := number.Significant(cmp.Or(d.Factor, 1), 3)
	share := strconv.FormatFloat(100*d.Within, 'f', -1, 64) + "%"
	pick := func(en, chinese string) string {
		if zh {
			return chinese
		}
		return en
	}
	var says string
	switch d.Is {
	case "greater", "less":
		more := d.Is == "greater"
		switch {
		case d.Factor == 0 || d.Factor == 1:
			says = pick(fmt.Sprintf("%s is %s than %s", a, map[bool]string{true: "more", false: "less"}[more], b),
				fmt.Sprintf("%s %s %s", a, map[bool]string{true: "大于", false: "小于"}[more], b))
		default:
			says = pick(fmt.Sprintf("%s is %s than %s × %s", a, map[bool]string{true: "more", false: "less"}[more], factor, b),
				fmt.Sprintf("%s %s %s × %s", a, map[bool]string{true: "大于", false: "小于"}[more], factor, b))
		}
	case "same":
		says = pick(fmt.Sprintf("%s and %s differ by at most %s", a, b, share), fmt.Sprintf("%s 与 %s 相差不超过 %s", a, b, share))
	case "flat":
		says = pick(fmt.Sprintf("no two values of %s differ by more than %s", d.Over, share), fmt.Sprintf("%s 各值之间相差不超过 %s", d.Over, share))
	case "rising":
		says = pick("it rises with "+d.Over, "随 "+d.Over+" 上升")
	case "falling":
		says = pick("it falls with "+d.Over, "随 "+d.Over+" 下降")
	case "stops":
		says = pick(fmt.Sprintf("it rises up to %s=%s, and by no more than %s beyond", d.Over, d.At, share), fmt.Sprintf("到 %s=%s 为止上升\uff0c之后的增长不超过 %s", d.Over, d.At, share))
	case "between":
		unit := r.data.catalog[d.Experiment].Metrics[d.Metric].Unit
		show := func(x float64) string {
			if n := int64(x); float64(n) == x && unit == measure.Count {
				return number.Exact(n)
			}
			return number.Format(x, unit, number.Options{})
		}
		low, high := show(*d.Low), show(*d.High)
		if a != "" {
			a += " "
		}
		says = pick(fmt.Sprintf("%slies within %s and %s", a, low, high), fmt.Sprintf("%s在 %s 与 %s 之间", a, low, high))
	}
	if d.From != "" {
		says += pick(", from RabbitMQ "+r.valueText(brokerLabel, d.From)+" on", "\uff0c从 RabbitMQ "+r.valueText(brokerLabel, d.From)+" 起")
	}
	if d.Every != nil {
		var versions []string
		for _, alias := range d.Every {
			versions = append(versions, r.valueText(brokerLabel, alias))
		}
		says += pick(", on each of RabbitMQ "+strings.Join(versions, ", "), "\uff0c在 RabbitMQ "+strings.Join(versions, "、")+" 上都如此")
	}
	return about + pick(": ", "\uff1a") + says
}

// numbers are what decided it: the ratio of the deciding pair, or the median,
// with its bounds.
func (r *resolver) numbers(d claimDeclared, c claim.Decision) string {
	if d.Is == "between" {
		unit := r.data.catalog[d.Experiment].Metrics[d.Metric].Unit
		show := func(x float64) string { return number.Format(x, unit, number.Options{}) }
		if c.Low == c.High {
			return show(c.Ratio)
		}
		return show(c.Ratio) + " (" + show(c.Low) + "–" + show(c.High) + ")"
	}
	show := func(x float64) string {
		if math.IsInf(x, 0) {
			return "∞"
		}
		return number.Significant(x, 3)
	}
	text := c.Pair[1] + " ÷ " + c.Pair[0] + " = " + show(c.Ratio)
	if c.Low != c.High {
		text += " (" + show(c.Low) + "–" + show(c.High) + ")"
	}
	return text
}

func verdictWords(lang string, d claim.Decision) string {
	zh := lang == "zh"
	word := map[claim.Verdict][2]string{claim.Holds: {"holds", "成立"}, claim.Fails: {"does not hold", "不成立"}, claim.Undecided: {"undecided", "未定"}}[d.Verdict]
	why := map[claim.Why][2]string{
		claim.Missing: {"not measured: " + d.Detail, "未测量\uff1a" + d.Detail},
		claim.TooFew:  {"too few repeats: " + d.Detail, "重复次数太少\uff1a" + d.Detail},
		claim.Overlap: {"the spread takes in both answers", "离散范围同时包含两种答案"},
		claim.Drifted: {"the machine's speed moved by " + d.Detail + "% within the run, and the rounds do not agree", "测量期间机器速度变动了 " + d.Detail + "%\uff0c各轮结果不一致"},
		claim.Unlike:  {"measured in different runs: " + d.Detail, "来自不同的测量\uff1a" + d.Detail},
	}[d.Why]
	if zh {
		if why[1] == "" {
			return word[1]
		}
		return word[1] + "\uff08" + why[1] + "\uff09"
	}
	if why[0] == "" {
		return word[0]
	}
	return word[0] + " (" + why[0] + ")"
}

// mark is the quiet sign beside a claimed sentence.
func (c *Claim) mark(lang string) template.HTML {
	sign := map[claim.Verdict]string{claim.Holds: "✓", claim.Fails: "✗", claim.Undecided: "?"}[c.Verdict]
	said, open, shut := template.HTMLEscapeString(c.Said), " (", ")"
	if lang == "zh" {
		open, shut = "（", "）"
	}
	return template.HTML(`<a class="verdict ` + string(c.Verdict) + `" href="#` + template.HTMLEscapeString(c.ID) + `" title="` + said + `"><span aria-hidden="true">` + sign +
		`</span><span class="unseen">` + open + said + shut + `</span></a>`)
}

// wordings are an author's words for each verdict.
type wordings struct {
	Holds     string `yaml:"holds"`
	Fails     string `yaml:"fails"`
	Undecided string `yaml:"undecided"`
}

func (w wordings) of(v claim.Verdict) string {
	return map[claim.Verdict]string{claim.Holds: w.Holds, claim.Fails: w.Fails, claim.Undecided: w.Undecided}[v]
}

func (w wordings) check() error {
	for _, v := range claim.Verdicts() {
		if w.of(v) == "" {
			return fmt.Errorf("the claim has no words for the verdict %s: a new release may need them; write holds, fails and undecided", v)
		}
	}
	return nil
}

// readWordings reads holds="…" fails=… undecided=… of an inline claim, which stand
// at an offset of its reference, and notes where the words are.
func readWordings(text string, base int, parts map[string]int) (wordings, error) {
	var w wordings
	rest := text
	for {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest == "" {
			break
		}
		at := base + len(text) - len(rest)
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return w, refError{at, fmt.Errorf("%q is not verdict=words", strings.TrimSpace(rest))}
		}
		valueAt := at + len(name) + 1
		var value string
		if quoted, ok := strings.CutPrefix(after, `"`); ok {
			valueAt++
			if value, rest, ok = strings.Cut(quoted, `"`); !ok {
				return w, refError{valueAt - 1, fmt.Errorf("%q has no closing quotation mark", after)}
			}
		} else {
			value, rest, _ = strings.Cut(after, " ")
		}
		name = strings.TrimSpace(name)
		into := map[string]*string{"holds": &w.Holds, "fails": &w.Fails, "undecided": &w.Undecided}[name]
		if into == nil {
			return w, refError{at, unknown("verdict", name, []string{"holds", "fails", "undecided"})}
		}
		if *into != "" {
			return w, refError{at, fmt.Errorf("%s is there twice", name)}
		}
		*into = value
		parts["words "+name] = valueAt
	}
	return w, w.check()
}
