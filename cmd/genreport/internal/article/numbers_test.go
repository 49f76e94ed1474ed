package article

import (
	"testing"
)

func TestWiden(t *testing.T) {
	tests := []struct {
		name, command string
		vary          []string
		broker, want  string
	}{
		{"one label", "genreport measure --broker a --experiment e --case client=go,channels=4,qos=0 --profile standard", []string{"channels", "client"}, "a",
			"genreport measure --broker a --experiment e --case qos=0 --profile standard"},
		{"all labels", "genreport measure --broker a --experiment e --case client=go --profile full", []string{"client"}, "a", "genreport measure --broker a --experiment e --profile full"},
		{"brokers", "genreport measure --broker a --experiment e", []string{"broker"}, "b", "genreport measure --broker a --broker b --experiment e"},
		{"again", "genreport measure --broker a --broker b --experiment e", []string{"broker"}, "a", "genreport measure --broker a --broker b --experiment e"},
		{"nothing", "", nil, "a", ""},
	}
	for _, tt := range tests {
		if got := widen(tt.command, tt.vary, tt.broker); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTableStep(t *testing.T) {
	for seconds, want := range map[int]int{1: 1, 8: 1, 40: 1, 41: 2, 80: 2, 81: 5, 200: 5, 201: 10, 401: 20, 801: 50, 2001: 100, 100000: 5000} {
		if got := tableStep(seconds); got != want {
			t.Errorf("%d seconds: every %d, want %d", seconds, got, want)
		}
	}
}
