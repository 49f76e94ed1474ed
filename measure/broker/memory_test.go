package broker

import (
	"maps"
	"testing"
)

func TestParseStatm(t *testing.T) {
	// size resident shared text lib data dt, in pages: proc(5).
	if n, err := parseStatm([]byte("617402 34587 12010 1077 0 94870 0\n")); n != 34587 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, bad := range []string{"", "12\n", "1 x 3\n"} {
		if n, err := parseStatm([]byte(bad)); err == nil {
			t.Errorf("%q gave %d", bad, n)
		}
	}
}

func TestParseMemory(t *testing.T) {
	// In the shape of the management API's answer.
	got, err := parseMemory([]byte(`{"connection_readers":10,"quorum_queue_procs":20,"quorum_ets":0,"strategy":"rss","total":{"erlang":1000,"rss":2000,"allocated":1500}}`))
	want := map[string]int64{"total": 1000, "connection_readers": 10, "quorum_queue_procs": 20, "quorum_ets": 0}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{`"not_available"`, `{}`, `{"total":5}`, `{"total":{"rss":5}}`, ``} {
		if got, err := parseMemory([]byte(bad)); err == nil {
			t.Errorf("%s gave %v", bad, got)
		}
	}
}
