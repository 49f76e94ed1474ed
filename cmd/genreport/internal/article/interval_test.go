package article

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"genreport/measure"
)

// The interval of seven samples is from the smallest to the largest of them: that
// the median is in it has a probability of 1 - 2/128.
func TestInterval(t *testing.T) {
	wide := testData(func(r measure.Result) {
		for i, c := range r.Cells {
			if c.Labels.Match(measure.Labels{"client": "go", "channels": "1000"}) {
				r.Cells[i].Values["memory"] = measure.Int(int64(1<<20 + (c.Repeat-4)*1<<17)) // 0.625 to 1.375 MiB
			}
		}
	})
	for text, want := range map[string]string{
		"channels/rate client=go channels=1000 | interval":                                "97–103",
		"channels/rate client=go channels=2000 | interval digits=2":                       "250", // 247 and 253 to ten
		"channels/memory client=go channels=1000 | interval":                              "0.6–1.4 MiB",
		"channels/memory client=go channels=1000 | interval unit=KiB digits=4":            "640–1,408 KiB",
		"channels/memory client=go channels=1000 | interval unit=MiB bare":                "0.6–1.4",
		"channels/memory client=go channels=1000 | interval per=channels unit=B digits=4": "655–1,442 B",
		"channels/processes client=go channels=2000 | interval":                           "8,000", // all are the same
	} {
		p, err := page(t, wide, testContent("en", testHead, "## H\n\n>"+"${"+text+"}<\n", ""))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.ReplaceAll(textOf(bodyHTML(p)), "\u00a0", " "); !strings.Contains(got, "\n"+want+"&lt;") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if !strings.Contains(bodyHTML(p), `<a class="n" href="#e-channels-`) {
			t.Errorf("%s leads nowhere: %s", text, bodyHTML(p))
		}
	}
	// Of a ratio: 247…253 to 97…103, of which the medians' ratio is 2.5.
	p, err := page(t, testData(), testContent("en", testHead, "## H\n\n${channels/rate client=go channels=2000 : channels=1000 | interval}\n", ""))
	if got := textOf(bodyHTML(p)); err != nil || !regexp.MustCompile(`\n2\.[45]–2\.[56]\n`).MatchString(got) {
		t.Errorf("%q, %v", got, err)
	}
	for text, want := range map[string]string{
		"${channels/rate client=go channels=2000 - channels=1000 | interval}":          "en/a.md:15:59: interval does not go with a difference",
		"${channels/rate client=go channels=1000 | interval range}":                    "en/a.md:15:52: interval and range exclude each other",
		"${channels/rate client=go channels=2000 : channels=1000 | interval unit=KiB}": "does not fit",
		"${channels/error client=go channels=1000 | interval}":                         "takes no option but first",
		"${channels/rate client=go channels=1000 | intervall}":                         `did you mean "interval"?`,
	} {
		if _, err := page(t, testData(), testContent("en", testHead, "## H\n\n"+text+"\n", "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Fewer than six repeats claim no interval, in the page's language; the median
// stays what it is.
func TestNoInterval(t *testing.T) {
	few := fuzzData() // of three repeats
	for lang, want := range map[string]string{"en": "not measured (fewer than 6 repeats: no 95 % interval)", "zh": "未测量（重复不足 6 次：不给出 95 % 区间）"} {
		for _, text := range []string{"channels/rate client=go channels=1000 | interval", "channels/rate client=go channels=2000 : channels=1000 | interval"} {
			p, err := page(t, few, testContent(lang, testHead, "## H\n\n${"+text+"}\n", ""))
			if err != nil {
				t.Fatal(err)
			}
			if got := textOf(bodyHTML(p)); !strings.Contains(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if !slices.ContainsFunc(p.Unmet, func(u Unmet) bool { return u.Reason == noInterval && u.Line == headLines+3 && u.Column == 1 }) {
				t.Errorf("%+v", p.Unmet)
			}
		}
	}
}
