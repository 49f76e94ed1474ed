// Package wrk runs wrk, the HTTP load generator, and reads what it prints.
//
// wrk prints a report for people and exits 0 whatever happened. What it did not
// say is an error here, never 0: a latency that is not a number, a duration of
// centuries, or no report at all (see wrk's issues 327 and 501).
package wrk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"genreport/measure/debian"
)

// Load is what wrk is asked to do: a closed loop, in which each connection sends
// its next request once the last is answered.
type Load struct {
	Threads     int
	Connections int
	Duration    time.Duration // whole seconds
	URL         string
	Body        string // sent with POST as application/json
}

// Report is what wrk said.
type Report struct {
	Requests int           // answered, with whatever status
	Elapsed  time.Duration // as wrk measured it
	Rate     float64       // requests per second, errors included

	// Latency of the answers, errors included, to the three digits that wrk prints.
	// wrk corrects them for what a stall held up: for each answer that took more
	// than twice the mean interval it adds samples that it has not measured
	// (stats_correct in its source). Answers that took 2 s or more are left out.
	Mean, Deviation, Max time.Duration
	P50, P75, P90, P99   time.Duration

	NotOK   int // answers of other statuses than 2xx and 3xx
	Connect int // connections that could not be opened
	Read    int // connections that broke while an answer was awaited
	Write   int // connections that broke while a request was sent
	Timeout int // answers that took 2 s or more: among Requests, and in no latency

	CPU  time.Duration // user and system time of wrk
	Text string        // all of it
}

// Failed is how many requests had no answer or one that was no success.
func (r Report) Failed() int { return r.NotOK + r.Connect + r.Read + r.Write }

// Version is what wrk says of itself, such as "4.1.0".
func Version(ctx context.Context) (string, error) {
	path, err := find()
	if err != nil {
		return "", err
	}
	out, _ := exec.CommandContext(ctx, path, "-v").CombinedOutput() // it exits 1 when all is well
	m := versionRule.FindStringSubmatch(string(out))
	if m == nil {
		return "", fmt.Errorf("wrk -v says no version: %.80q", out)
	}
	return m[1], nil
}

var versionRule = regexp.MustCompile(`^wrk \S*?(\d+\.\d+\.\d+)`)

func find() (string, error) {
	path, err := exec.LookPath("wrk")
	if err != nil {
		return "", errors.New("wrk is not installed; install it with `make setup` or `apt-get install wrk`")
	}
	return path, nil
}

// Args are the arguments for wrk; script is the path of what Script gives.
func (l Load) Args(script string) []string {
	return []string{"-t", strconv.Itoa(l.Threads), "-c", strconv.Itoa(l.Connections),
		"-d", strconv.Itoa(int(l.Duration.Seconds())) + "s", "--latency", "-s", script, l.URL}
}

// Script is the Lua script that makes each request a POST of the body.
func (l Load) Script() string {
	return "wrk.method = \"POST\"\nwrk.body = " + luaString(l.Body) + "\nwrk.headers[\"Content-Type\"] = \"application/json\"\n"
}

// luaString quotes bytes for Lua.
func luaString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, "\\%03d", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Run puts on the load and returns wrk's report. wrk ends with ctx, and by
// itself after the load's duration.
func Run(ctx context.Context, l Load) (Report, error) {
	if l.Threads < 1 || l.Connections < l.Threads || l.Duration < time.Second || l.Duration > 10*time.Minute {
		return Report{}, fmt.Errorf("wrk: %d threads, %d connections for %v: it needs a thread at least, a connection for each, and 1 s to 10 min", l.Threads, l.Connections, l.Duration)
	}
	path, err := find()
	if err != nil {
		return Report{}, err
	}
	dir, err := os.MkdirTemp("", "genreport-wrk-")
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "post.lua")
	if err := os.WriteFile(script, []byte(l.Script()), 0o600); err != nil {
		return Report{}, err
	}
	cmd := exec.CommandContext(ctx, path, l.Args(script)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	wait, err := debian.StartTied(cmd)
	if err != nil {
		return Report{}, fmt.Errorf("start wrk: %w", err)
	}
	err = wait()
	if ctx.Err() != nil {
		return Report{}, ctx.Err()
	}
	if err != nil {
		return Report{}, fmt.Errorf("wrk: %w: %.200s", err, strings.TrimSpace(stderr.String()+stdout.String()))
	}
	r, err := Parse(stdout.String())
	if err != nil {
		return r, fmt.Errorf("%w; standard error: %.200q", err, stderr.String())
	}
	if long := r.Elapsed - l.Duration; long < -time.Second || long > l.Duration+10*time.Second {
		return r, fmt.Errorf("wrk says that it ran for %v instead of %v", r.Elapsed, l.Duration)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return r, nil
}

var (
	latencyRule  = regexp.MustCompile(`(?m)^\s+Latency\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+\s*$`)
	quantileRule = regexp.MustCompile(`(?m)^\s+(50|75|90|99)%\s+(\S+)\s*$`)
	requestsRule = regexp.MustCompile(`(?m)^\s+(\d+) requests in (\S+), \S+ read\s*$`)
	rateRule     = regexp.MustCompile(`(?m)^Requests/sec:\s+(\S+)\s*$`)
	socketRule   = regexp.MustCompile(`(?m)^\s+Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)\s*$`)
	statusRule   = regexp.MustCompile(`(?m)^\s+Non-2xx or 3xx responses: (\d+)\s*$`)
)

// Parse reads a report printed with --latency. It refuses one that lacks
// something or says what can't be.
func Parse(text string) (Report, error) {
	r := Report{Text: text}
	if strings.TrimSpace(text) == "" {
		return r, errors.New("wrk printed nothing")
	}
	var errs []error
	fail := func(format string, a ...any) { errs = append(errs, fmt.Errorf("wrk's report: "+format, a...)) }
	duration := func(what, s string) time.Duration {
		d, err := parseDuration(s)
		if err != nil {
			fail("%s: %w", what, err)
		}
		return d
	}
	if m := latencyRule.FindStringSubmatch(text); m != nil {
		r.Mean, r.Deviation, r.Max = duration("mean latency", m[1]), duration("standard deviation", m[2]), duration("longest latency", m[3])
	} else {
		fail("no line of latencies")
	}
	found := map[string]string{}
	for _, m := range quantileRule.FindAllStringSubmatch(text, -1) {
		found[m[1]] = m[2]
	}
	for name, to := range map[string]*time.Duration{"50": &r.P50, "75": &r.P75, "90": &r.P90, "99": &r.P99} {
		if s, ok := found[name]; ok {
			*to = duration(name+"%", s)
		} else {
			fail("no %s%% of the latencies", name)
		}
	}
	if m := requestsRule.FindStringSubmatch(text); m != nil {
		r.Requests, _ = strconv.Atoi(m[1]) // digits; one out of range is refused below
		r.Elapsed = duration("time", m[2])
	} else {
		fail("no count of requests")
	}
	if m := rateRule.FindStringSubmatch(text); m != nil {
		rate, err := strconv.ParseFloat(m[1], 64)
		if err != nil || math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 {
			fail("%q is no rate", m[1])
		}
		r.Rate = rate
	} else {
		fail("no rate")
	}
	if m := socketRule.FindStringSubmatch(text); m != nil { // printed only where there were some
		for i, to := range []*int{&r.Connect, &r.Read, &r.Write, &r.Timeout} {
			*to, _ = strconv.Atoi(m[i+1])
		}
	}
	if m := statusRule.FindStringSubmatch(text); m != nil {
		r.NotOK, _ = strconv.Atoi(m[1])
	}
	if len(errs) == 0 {
		switch {
		case r.Requests <= 0:
			fail("no request was answered")
		case r.Elapsed <= 0 || r.Elapsed > time.Hour:
			fail("it ran for %v", r.Elapsed)
		case math.Abs(r.Rate*r.Elapsed.Seconds()/float64(r.Requests)-1) > 0.02:
			fail("%d requests in %v are not %.2f a second", r.Requests, r.Elapsed, r.Rate)
		case r.P50 > r.P75 || r.P75 > r.P90 || r.P90 > r.P99:
			fail("its percentiles do not rise")
		case r.NotOK > r.Requests:
			fail("more errors (%d) than answers (%d)", r.NotOK, r.Requests)
		}
	}
	return r, errors.Join(errs...)
}

// parseDuration reads wrk's times: 931.00us, 12.34ms, 1.20s, 1.50m, 2.00h.
func parseDuration(s string) (time.Duration, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	unit, ok := map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour}[s[len(digits):]]
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !ok || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 || n*float64(unit) > float64(24*time.Hour) {
		return 0, fmt.Errorf("%q is no time", s)
	}
	return time.Duration(math.Round(n * float64(unit))), nil
}
