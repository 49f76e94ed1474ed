package webapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/load/latency"
)

// generateFrom runs a generator in this process.
func generateFrom(t *testing.T, job Job) Outcome {
	t.Helper()
	if err := job.Validate(); err != nil {
		t.Fatal(err)
	}
	in, commands := io.Pipe()
	out, said := io.Pipe()
	go func() {
		Serve(in, said)
		said.Close()
	}()
	defer commands.Close()
	d := json.NewDecoder(out)
	next := func() (m Message) {
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if err := json.NewEncoder(commands).Encode(job); err != nil {
		t.Fatal(err)
	}
	if m := next(); m.Type != TypeReady {
		t.Fatalf("it said %+v, want ready", m)
	}
	io.WriteString(commands, "start\n")
	m := next()
	if m.Type != TypeResult {
		t.Fatalf("it said %+v, want a result", m)
	}
	return *m.Result
}

func quantile(t *testing.T, m *measure.Histogram, q float64) time.Duration {
	t.Helper()
	h, err := latency.Decode(*m)
	if err != nil {
		t.Fatal(err)
	}
	d, ok := h.Quantile(q)
	if !ok {
		t.Fatal("a histogram without values")
	}
	return d
}

// Of 2000 requests at 1000/s, an API that stands still for 200 ms holds up the
// 200 that are due meanwhile, the first for 200 ms and the last for 1: the
// hundredth part of all, 20 of them, wait for more than 180 ms. Only the four
// that were in flight see it from their actual send.
func TestStallCountsFromTheIntendedSend(t *testing.T) {
	var gate sync.RWMutex
	var once sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			time.AfterFunc(700*time.Millisecond, func() {
				gate.Lock()
				time.Sleep(200 * time.Millisecond)
				gate.Unlock()
			})
		})
		gate.RLock()
		defer gate.RUnlock()
		w.WriteHeader(http.StatusAccepted)
	}))
	defer s.Close()
	o := generateFrom(t, Job{Role: Generate, URL: s.URL + "/posts", Rate: 1000, Duration: 2, Connections: 4, FirstID: 1, Limit: 60})
	if o.Scheduled != 2000 || o.Sent != 2000 || o.Accepted != 2000 || o.Requests != 2000 {
		t.Fatalf("%d scheduled, %d sent, %d accepted", o.Scheduled, o.Sent, o.Accepted)
	}
	if p99 := quantile(t, o.Answer, 0.99); p99 < 165*time.Millisecond || p99 > 400*time.Millisecond {
		t.Errorf("p99 from the intended send is %v, want about 180 ms", p99)
	}
	if p99 := quantile(t, o.AnswerActual, 0.99); p99 > 100*time.Millisecond {
		t.Errorf("p99 from the actual send is %v, want next to nothing", p99)
	}
	if max := quantile(t, o.AnswerActual, 1); max < 150*time.Millisecond {
		t.Errorf("the longest from the actual send is %v, want about 200 ms", max)
	}
	if o.LongestGap < 0.15 || o.LongestGap > 0.6 {
		t.Errorf("the longest time without an accepted answer is %v s, want about 0.2", o.LongestGap)
	}
	if o.Late < 150 {
		t.Errorf("%d were late, want about 196", o.Late)
	}
	if o.CPU <= 0 || o.Elapsed < 1.999 {
		t.Errorf("%v s of CPU in %v s", o.CPU, o.Elapsed)
	}
	sum := 0.0
	for _, v := range o.Series[SeriesAnswered].Values {
		sum += v.Float64()
	}
	if sum != 2000 {
		t.Errorf("the seconds add up to %v answers", sum)
	}
}

// Each kind of answer counts as what it is. A request that was cut off may have
// been done; one that was refused was not.
func TestAnswersAreTold(t *testing.T) {
	var mu sync.Mutex
	var got []uint64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p post
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Title == "" || p.Content == "" || r.Method != "POST" ||
			r.URL.Path != "/posts" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %+v: %v", r.Method, r.URL, p, err)
		}
		mu.Lock()
		got = append(got, p.ID)
		mu.Unlock()
		switch p.ID {
		case 10:
			w.WriteHeader(http.StatusCreated)
		case 11:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 12:
			w.WriteHeader(http.StatusBadRequest)
		case 13:
			w.WriteHeader(http.StatusTeapot)
		case 14: // no answer
			panic(http.ErrAbortHandler)
		case 15: // half an answer
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "{")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(http.StatusOK)
		}
	}))
	defer s.Close()
	o := generateFrom(t, Job{Role: Generate, URL: s.URL + "/posts", Messages: 8, Connections: 1, FirstID: 10, Limit: 60})
	if want := []uint64{10, 11, 12, 13, 14, 15, 16, 17}; !slices.Equal(got, want) {
		t.Errorf("the API got posts %v, want %v, each once", got, want)
	}
	if !slices.Equal(o.AcceptedIDs, []uint64{10, 16, 17}) || !slices.Equal(o.UncertainIDs, []uint64{14, 15}) {
		t.Errorf("accepted %v, uncertain %v", o.AcceptedIDs, o.UncertainIDs)
	}
	if o.Requests != 8 || o.Accepted != 3 || o.Refused != 1 || o.BadRequests != 1 || o.Errors != 3 {
		t.Errorf("counted %+v", o)
	}
	if o.Answer.Count != 3 || o.AnswerActual.Count != 3 || o.Scheduled != 0 || o.Late != 0 {
		t.Errorf("%d latencies, %d scheduled, %d late", o.Answer.Count, o.Scheduled, o.Late)
	}
}

func TestClosedLoopEnds(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(5 * time.Millisecond) }))
	defer s.Close()
	o := generateFrom(t, Job{Role: Generate, URL: s.URL + "/posts", Duration: 0.5, Connections: 3, FirstID: 1, Limit: 60})
	// 3 connections, 100 requests each at most in half a second
	if o.Sent < 10 || o.Sent > 303 || o.Accepted != o.Sent || o.Elapsed < 0.5 {
		t.Errorf("%d sent and %d accepted in %v s", o.Sent, o.Accepted, o.Elapsed)
	}
}

func TestProcess(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer s.Close()
	ctx := context.Background()
	job := Job{Role: Generate, URL: s.URL + "/posts", Rate: 100, Duration: 0.5, Connections: 2, FirstID: 1, Limit: 60}
	p, err := Start(ctx, serveCommand(ctx), job)
	if err != nil {
		t.Fatal(err)
	}
	if p.Ready.Runtime == "" {
		t.Error("it does not say what it is")
	}
	if err := p.Go(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CPU(); err != nil {
		t.Error(err)
	}
	o, err := p.Wait(ctx)
	if err != nil || o.Accepted != 50 {
		t.Errorf("%d accepted, want 50; %v", o.Accepted, err)
	}
	if again, err := p.Stop(ctx); err != nil || again.Accepted != 50 {
		t.Errorf("the second time: %d accepted, %v", again.Accepted, err)
	}
	if _, err := p.CPU(); err == nil {
		t.Error("a process that has ended uses CPU time")
	}
	p.Kill()

	job.Duration = 50 // stopped before that
	if p, err = Start(ctx, serveCommand(ctx), job); err != nil {
		t.Fatal(err)
	}
	if err := p.Go(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if o, err = p.Stop(ctx); err != nil || o.Accepted == 0 || o.Accepted > 1000 || o.Scheduled != 5000 {
		t.Errorf("stopped: %d of %d accepted, %v", o.Accepted, o.Scheduled, err)
	}

	if p, err = Start(ctx, serveCommand(ctx), job); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if _, err := p.Wait(ctx); err == nil {
		t.Error("a killed process has an outcome")
	}
}

// A job that fails says why, and not with what it was to log in.
func TestProcessErrors(t *testing.T) {
	ctx := context.Background()
	nobody := "127.0.0.1:1" // a port that nobody listens on
	for _, job := range []Job{
		{Role: API, Mode: Sync, Listen: "127.0.0.1:0", DSN: "bench:s3cr3t-word@tcp(" + nobody + ")/posts", DBPool: 1, Limit: 20},
		{Role: API, Mode: Async, Listen: "127.0.0.1:0", URI: "amqp://bench:s3cr3t-word@" + nobody + "/", Queue: "q", Channels: 1, Limit: 20},
		{Role: Consumer, DSN: "bench:s3cr3t-word@tcp(" + nobody + ")/posts", DBPool: 1, URI: "amqp://bench:s3cr3t-word@" + nobody + "/", Queue: "q", Workers: 1, Limit: 20},
		{Role: Generate, URL: "http://" + nobody + "/posts", Messages: 1, Connections: 1, FirstID: 1, Limit: 20},
	} {
		_, err := Start(ctx, serveCommand(ctx), job)
		if err == nil {
			t.Errorf("%s %s: it started", job.Role, job.Mode)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "connect") || strings.Contains(text, "s3cr3t") || strings.Contains(text, "bench") ||
			job.Role != Generate && strings.Contains(text, nobody) {
			t.Errorf("%s %s: %v", job.Role, job.Mode, err)
		}
	}
	// The process itself does not tell either.
	var said strings.Builder
	in := strings.NewReader(`{"role":"api","mode":"sync","listen":"127.0.0.1:0","dsn":"bench:s3cr3t-word@tcp(` + nobody + `)/posts","db_pool":1,"limit_s":20}` + "\n")
	if err := Serve(io.MultiReader(in, forever{}), &said); err == nil || !strings.Contains(said.String(), `"type":"error"`) ||
		strings.Contains(said.String()+err.Error(), "s3cr3t") || strings.Contains(said.String(), nobody) {
		t.Errorf("%v; it said %s", err, said.String())
	}
	exits := exec.CommandContext(ctx, "/bin/sh", "-c", "read job; echo \"$job\" >&2; exit 3")
	_, err := Start(ctx, exits, Job{Role: API, Mode: Sync, Listen: "127.0.0.1:0", DSN: "bench:s3cr3t-word@tcp(" + nobody + ")/posts", DBPool: 1, Limit: 20})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("one that quotes its job: %v", err)
	}
}

// forever is input that does not come.
type forever struct{}

func (forever) Read([]byte) (int, error) { select {} }

// A process whose input ends, ends.
func TestProcessEndsWithItsInput(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer s.Close()
	ctx := context.Background()
	p, err := Start(ctx, serveCommand(ctx), Job{Role: Generate, URL: s.URL + "/posts", Rate: 1, Duration: 100, Connections: 1, FirstID: 1, Limit: 600})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Go(); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		t.Error("it lives on")
		p.Kill()
	}
}
