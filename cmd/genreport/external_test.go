package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/debian"
	"genreport/measure/experiments"
)

// A broker that is already there is measured by its URL, plain and with TLS:
// what it can't be asked is missing with its reason and no failure, and nothing
// of its address, user or password comes out.
func TestMeasureByURL(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real node")
	}
	ctx := context.Background()
	root, err := debian.Debian{}.Ensure(ctx, broker.Image(), "forky")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	secure, err := broker.GenerateCertificates(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(ctx, root, broker.Config{TLS: &secure}, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, args := range [][]string{{"add_user", "alice", "hush-hush"}, {"set_permissions", "alice", ".*", ".*", ".*"}, {"set_user_tags", "alice", "monitoring"}} {
		if _, err := b.Ctl(ctx, args...); err != nil {
			t.Fatal(err)
		}
	}
	as := func(uri string) string {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("alice", "hush-hush")
		return u.String()
	}
	listening, err := b.Eval(ctx, "[P] = [P || {listener,_,http,_,_,P,_} <- rabbit_networking:active_listeners()], P.")
	if err != nil {
		t.Fatal(err)
	}
	managementPort := strings.TrimSpace(listening)
	management := as("http://127.0.0.1:" + managementPort)
	exe := buildGenreport(t)
	for name, spec := range map[string]string{
		"plain":      as(b.URI()),
		"management": as(b.URI()) + "?management=" + management,
		"tls":        as(b.TLSURI()) + "?cacertfile=" + secure.CAFile + "&management=" + management,
	} {
		results := filepath.Join(dir, name)
		out, status := runGenreport(exe, "measure", "--profile", "quick", "--broker", spec, "--results", results, "--repeats", "1",
			"--case", "client=go,channels=2000", "--case", "client=pika,channels=1", "--case", "client=go,connections=2",
			"--case", "client=go,node=default,request=100", "--case", "client=go,node=channel_max=16")
		if status != exitOK {
			t.Errorf("%s: status %d: %s", name, status, out)
		}
		runs, err := measure.Load(os.DirFS(results), experiments.Methods())
		if err != nil || len(runs) != 1 {
			t.Fatalf("%s: %d runs, %v", name, len(runs), err)
		}
		want := func(experiment string, labels measure.Labels, metric, reason string) {
			t.Helper()
			for _, c := range runs[0].Results[experiment].Cells {
				if !c.Labels.Match(labels) {
					continue
				}
				v := c.Values[metric]
				if c.Failure != nil || v.OK() != (reason == "") || !strings.Contains(v.Reason(), reason) {
					t.Errorf("%s: %s %s is %v %q (failure %v), want %q", name, experiment, metric, v.OK(), v.Reason(), c.Failure, reason)
				}
				return
			}
			t.Errorf("%s: no cell of %s has %s", name, experiment, labels)
		}
		want("channel-throughput", measure.Labels{"client": "pika", "channels": "1"}, "rate", "")
		want("channel-throughput", measure.Labels{"client": "pika", "channels": "1"}, "broker_cpu", "by URL")
		want("connection-throughput", measure.Labels{"connections": "2"}, "rate", "")
		want("channel-cost", measure.Labels{"channels": "2000"}, "memory_gc", "by URL")
		want("channel-cost", measure.Labels{"channels": "2000"}, "open_time", "")
		want("channel-limit", measure.Labels{"request": "100"}, "opened", "")
		want("channel-limit", measure.Labels{"node": "channel_max=16"}, "opened", "by URL")
		if name == "plain" {
			want("channel-limit", measure.Labels{"request": "100"}, "listed", "management")
		} else {
			want("channel-limit", measure.Labels{"request": "100"}, "listed", "")
		}
		secrets := []string{"alice", "hush", "127.0.0.1", secure.CAFile, dir}
		for _, uri := range []string{b.URI(), b.TLSURI(), management} {
			u, _ := url.Parse(uri)
			secrets = append(secrets, ":"+u.Port())
		}
		text := strings.ReplaceAll(out, results, "")
		files, err := filepath.Glob(filepath.Join(results, "*", "*.json"))
		if err != nil || len(files) != 5 {
			t.Errorf("%s: %d files, %v", name, len(files), err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text += string(data)
		}
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%s: %q came out", name, s)
			}
		}
	}
	// A wrong password is told once, before anything is measured or written.
	out, status := runGenreport(exe, "measure", "--profile", "quick", "--broker", strings.Replace(as(b.URI()), "hush-hush", "wrong-one", 1),
		"--experiment", "channel-throughput", "--results", filepath.Join(dir, "wrong"))
	if status != exitFailed || strings.Contains(out, "wrong-one") || strings.Contains(out, "alice") || !strings.Contains(out, "403") || strings.Count(out, "\n") > 4 {
		t.Errorf("wrong password: status %d: %s", status, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "wrong", "*")); len(left) > 0 {
		t.Errorf("a run without a broker left %s", left)
	}
}

func buildGenreport(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "genreport")
	if out, err := exec.Command("go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

func runGenreport(exe string, args ...string) (output string, status int) {
	cmd := exec.Command(exe, args...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return err.Error(), -1
	}
	return string(out), cmd.ProcessState.ExitCode()
}
