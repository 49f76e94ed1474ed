package main

import (
	"regexp"
	"testing"

	"genreport/cmd/genreport/internal/words"
	"genreport/measure/experiments"
	"genreport/measure/runner"
)

// What programs say in English and pages show has its Chinese. A new metric
// needs one line in internal/words.
func TestDescriptionsInChinese(t *testing.T) {
	han := regexp.MustCompile(`\p{Han}`)
	for _, e := range experiments.All() {
		for name, m := range e.Metrics {
			if said, ok := words.In("zh", m.Description); !ok || !han.MatchString(said) {
				t.Errorf("%s/%s: %q has no Chinese: add it to cmd/genreport/internal/words/words.go", e.Name, name, m.Description)
			}
		}
	}
	if said, ok := words.In("zh", runner.InMemory); !ok || !han.MatchString(said) {
		t.Errorf("%q has no Chinese", runner.InMemory)
	}
}
