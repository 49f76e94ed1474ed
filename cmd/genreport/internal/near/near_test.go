package near

import "testing"

func TestBest(t *testing.T) {
	have := []string{"after_s", "before_s", "duration_s", "rate_per_queue", "window"}
	for got, want := range map[string]string{
		"windw": "window", "Window": "window", "befor_s": "before_s", "before": "before_s", // letters differ
		"rate": "rate_per_queue", "duration": "duration_s", "windows_of_messages": "window", // a part
		"colour": "", "x": "", "": "",
	} {
		if best := Best(got, have); best != want {
			t.Errorf("%q: %q, want %q", got, best, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"é", "e", 1}, {"same", "same", 0}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
