package experiments

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/database"
	"genreport/measure/debian"
)

// webEnv has a node of its own, since some cells kill it, and a database.
func webEnv(t *testing.T) Env {
	t.Helper()
	e := env(t) // skips, and has the root file system
	ctx := context.Background()
	b, err := broker.Start(ctx, shared.root, broker.Config{}, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Stop() })
	root, err := database.Ensure(ctx, debian.Debian{Log: func(line string) { t.Log(line) }}, database.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Start(ctx, root, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Stop() })
	e.Broker, e.Database = b, db
	e.WebAPI = func(ctx context.Context) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), webapiVariable+"=1")
		return cmd, nil
	}
	return e
}

// What must hold on any machine: every post that was promised to be kept is there,
// once where that was promised, and all that was counted adds up.
func TestWebAPIExperiments(t *testing.T) {
	e := webEnv(t)
	measured := func(t *testing.T, x Experiment, labels string) Sample {
		t.Helper()
		for _, c := range x.Cases(Standard) {
			if c.Labels.String() != labels {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			s, err := x.Measure(ctx, e, c)
			if err != nil {
				t.Fatal(err)
			}
			if s.Integrity != nil {
				if err := s.Integrity.Check(); err != nil {
					t.Error(err)
				}
			}
			for name, v := range s.Values {
				if _, ok := x.Metrics[name]; !ok {
					t.Errorf("value %s belongs to no metric", name)
				} else if strings.Contains(v.Reason(), "failed") {
					t.Errorf("%s: %s", name, v.Reason())
				}
			}
			for name := range s.Series {
				if _, ok := x.Series[name]; !ok {
					t.Errorf("series %s is not described", name)
				}
			}
			return s
		}
		t.Fatalf("%s has no case %s", x.Name, labels)
		return Sample{}
	}
	want := func(t *testing.T, s Sample, name string, n int64) {
		t.Helper()
		if got, ok := s.Values[name].Int64(); !ok || got != n {
			t.Errorf("%s is %v (%s), want %d", name, s.Values[name], s.Values[name].Reason(), n)
		}
	}
	positive := func(t *testing.T, s Sample, names ...string) {
		t.Helper()
		for _, name := range names {
			if v := s.Values[name]; !v.OK() || v.Float64() <= 0 {
				t.Errorf("%s is %v (%s), want more than 0", name, v, v.Reason())
			}
		}
	}
	for _, mode := range modes() {
		t.Run("saturation/"+mode, func(t *testing.T) {
			workers := "1"
			if mode == "sync" {
				workers = "0"
			}
			s := measured(t, webapiSaturation(), "mode="+mode+",workers="+workers)
			positive(t, s, "rate", "requests", "latency_mean", "latency_p99", "committed_rate", "cpu_generator", "cpu_api", "cpu_database", "flush")
			if mode != "sync" {
				positive(t, s, "cpu_broker", "cpu_consumers")
			}
			want(t, s, "errors", 0)
			if !strings.Contains(s.Texts["wrk"], "10 threads and 100 connections") {
				t.Errorf("wrk said %q", s.Texts["wrk"])
			}
			if mode == "sync" { // what is answered is there
				if v := s.Values["backlog"]; !v.OK() || v.Float64() > 100 {
					t.Errorf("backlog %v, want no more than was under way", v)
				}
			}
		})
		t.Run("latency/"+mode, func(t *testing.T) {
			base := map[string]string{"sync": "own"}[mode]
			if base == "" {
				base = "sync"
			}
			s := measured(t, webapiLatency(), "base="+base+",load=50,mode="+mode+",workers=16")
			positive(t, s, "saturation", "rate", "answered_rate", "answer_p50", "commit_p50", "insert_p50")
			want(t, s, "refused", 0)
			if mode == "sync" && s.Values["commit_p50"].Float64() > s.Values["answer_p50"].Float64() {
				t.Errorf("half of the rows were there after %v s, and half of the answers after %v s: an answer before its row", s.Values["commit_p50"], s.Values["answer_p50"])
			}
			if p := s.Values["publish_p50"]; p.OK() == (mode == "sync") {
				t.Errorf("publish_p50 is %v", p)
			}
		})
	}
	t.Run("scale", func(t *testing.T) {
		s := measured(t, webapiScale(), "consumers=3,instances=1,mode=async,workers=1")
		positive(t, s, "answered_rate", "committed_rate", "answer_p50", "answer_p99")
		s = measured(t, webapiScale(), "consumers=0,instances=3,mode=sync,workers=0")
		positive(t, s, "answered_rate", "committed_rate")
	})
	t.Run("consumers stopped", func(t *testing.T) {
		s := measured(t, webapiIntegrity(), "mode=async-confirm,scenario=consumers-stopped,unique=no")
		for _, name := range []string{"posts", "accepted", "queued", "rows"} {
			want(t, s, name, 100)
		}
		for _, name := range []string{"lost", "doubled", "unasked", "refused", "unanswered", "redelivered"} {
			want(t, s, name, 0)
		}
	})
	t.Run("consumer killed", func(t *testing.T) {
		s := measured(t, webapiIntegrity(), "mode=async-confirm,scenario=consumer-killed,unique=yes")
		want(t, s, "lost", 0)
		want(t, s, "doubled", 0) // the index keeps them out
		want(t, s, "rows", 5000)
		positive(t, s, "redelivered", "kills")
	})
	t.Run("broker restarted", func(t *testing.T) {
		s := measured(t, webapiIntegrity(), "mode=async,scenario=broker-restarted,unique=no")
		want(t, s, "queued", 100)
		want(t, s, "lost", 0) // in order, a persistent message of a durable queue stays
	})
	t.Run("broker killed", func(t *testing.T) {
		s := measured(t, webapiIntegrity(), "mode=async-confirm,scenario=broker-killed,unique=no")
		want(t, s, "accepted", 100)
		want(t, s, "lost", 0) // each was confirmed
		positive(t, s, "kill_delay")
	})
	t.Run("database killed", func(t *testing.T) {
		s := measured(t, webapiIntegrity(), "mode=async-confirm,scenario=database-killed,unique=no")
		want(t, s, "lost", 0)
		s = measured(t, webapiIntegrity(), "mode=sync,scenario=database-killed,unique=no")
		want(t, s, "lost", 0)
		positive(t, s, "refused", "outage")
	})
}

// An experiment on a database without one says so.
func TestWebAPIWithoutDatabase(t *testing.T) {
	x := webapiSaturation()
	_, err := x.Measure(context.Background(), Env{Profile: Quick}, Case{Labels: measure.Labels{"mode": "sync", "workers": "0"}})
	if err == nil || !strings.Contains(err.Error(), "no database was started") {
		t.Errorf("got %v", err)
	}
}
