package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"genreport/measure/debian"
	"genreport/measure/process"

	"github.com/go-sql-driver/mysql"
)

const helperVariable = "GENREPORT_DATABASE_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		helper()
		return
	}
	os.Exit(m.Run())
}

func rootfs(t *testing.T, suite string) debian.Rootfs {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real server")
	}
	r, err := Ensure(context.Background(), debian.Debian{Log: func(line string) { t.Log(line) }}, Spec{Suite: suite})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func start(t *testing.T, suite string, o Options) *Database {
	t.Helper()
	d, err := Start(context.Background(), rootfs(t, suite), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// open opens the database as any client does: by its DSN alone.
func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestServer(t *testing.T) {
	for _, suite := range []string{"sid", "trixie"} {
		t.Run(suite, func(t *testing.T) { testServer(t, suite) })
	}
}

func testServer(t *testing.T, suite string) {
	r := rootfs(t, suite)
	ctx := context.Background()
	parent := t.TempDir()
	begin := time.Now()
	d := start(t, suite, Options{Dir: parent})
	t.Logf("started in %v", time.Since(begin))
	if d.Label() != "debian:"+suite {
		t.Errorf("label %q", d.Label())
	}

	info, err := d.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"innodb_flush_log_at_trx_commit": "1", "log_bin": "OFF", "max_connections": "500", "transaction_isolation": "REPEATABLE-READ",
		"character_set_server": "utf8mb4", "time_zone": "+00:00", "innodb_buffer_pool_size": "134217728", // the default of both
	}
	server := map[string]string{"sid": MySQL, "trixie": MariaDB}[suite]
	if info.Server != server || info.Package != r.Package || info.Version == "" || !strings.Contains(info.Package, info.Version) {
		t.Errorf("%q %q of package %q; the root file system has %q", info.Server, info.Version, info.Package, r.Package)
	}
	for name, value := range want {
		if info.Settings[name] != value {
			t.Errorf("%s is %q, want %s", name, info.Settings[name], value)
		}
	}
	for _, name := range []string{"sync_binlog", "innodb_flush_method"} {
		if info.Settings[name] == "" {
			t.Errorf("%s is not told", name)
		}
	}
	if _, ok := info.Settings["innodb_redo_log_capacity"]; ok != (suite == "sid") {
		t.Errorf("redo log: %v", info.Settings)
	}

	c, err := mysql.ParseDSN(d.DSN())
	if err != nil || len(c.Passwd) < 20 || c.DBName != "genreport" || !c.ParseTime || c.Loc != time.UTC {
		t.Errorf("DSN: %v", err)
	}
	db := open(t, d.DSN())
	when := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	const text = "中文 😀"
	mustExec(t, db, "CREATE TABLE kept (id INT PRIMARY KEY, name VARCHAR(20), at DATETIME) ENGINE=InnoDB")
	mustExec(t, db, "INSERT INTO kept VALUES (1, ?, ?)", text, when)
	uncommitted, err := db.Begin() // never committed
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uncommitted.Exec("INSERT INTO kept VALUES (2, 'lost', NULL)"); err != nil {
		t.Fatal(err)
	}
	check := func(name string) {
		t.Helper()
		var gotText string
		var got time.Time
		if err := db.QueryRow("SELECT name, at FROM kept WHERE id = 1").Scan(&gotText, &got); err != nil || gotText != text || !got.Equal(when) {
			t.Errorf("%s: %q, %v, %v", name, gotText, got, err)
		}
		if n := count(t, db, "SELECT COUNT(*) FROM kept"); n != 1 {
			t.Errorf("%s: %d rows, want 1", name, n)
		}
	}
	check("at first")
	var user string
	if err := db.QueryRow("SELECT CURRENT_USER()").Scan(&user); err != nil || user != "genreport@127.0.0.1" {
		t.Errorf("user %q, %v", user, err)
	}

	// No other way in: not as root, not without the password.
	for _, dsn := range []string{"root@tcp(" + c.Addr + ")/", "genreport@tcp(" + c.Addr + ")/", "genreport:x@tcp(" + c.Addr + ")/"} {
		var said *mysql.MySQLError
		if err := open(t, dsn).Ping(); !errors.As(err, &said) {
			t.Errorf("%s: %v", dsn, err)
		}
	}
	if _, err := db.Exec("SELECT * FROM mysql.user"); err == nil {
		t.Error("our user may read what is not ours")
	}
	if left, _ := filepath.Glob(filepath.Join(parent, "*", "*.sql")); len(left) != 0 {
		t.Errorf("the password is left in %v", left)
	}

	// CPU time grows with work.
	before := cpuOf(t, d)
	count(t, db, "SELECT BENCHMARK(2000000, SHA2('x', 256))")
	if took := cpuOf(t, d) - before; took < 100*time.Millisecond || took > time.Minute {
		t.Errorf("work took %v of CPU time", took)
	}

	// A crash, and back.
	first := d.Done()
	if err := d.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-first:
	default:
		t.Error("killed, and not done")
	}
	if err := db.Ping(); err == nil {
		t.Error("a killed server answers")
	}
	if _, err := d.CPU(); err == nil {
		t.Error("a killed server has a CPU time")
	}
	if _, err := d.Info(ctx); err == nil || strings.Contains(err.Error(), c.Passwd) {
		t.Errorf("information of a killed server: %v", err)
	}
	dsn := d.DSN()
	begin = time.Now()
	if err := d.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("back in %v", time.Since(begin))
	if d.DSN() != dsn || d.Done() == first {
		t.Error("another DSN, or the old channel")
	}
	check("after a crash")
	// One that runs is killed by Restart.
	mustExec(t, db, "INSERT INTO kept VALUES (3, 'x', NULL)")
	second := d.Done()
	if err := d.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-second:
	default:
		t.Error("restarted beside the running one")
	}
	if n := count(t, db, "SELECT COUNT(*) FROM kept"); n != 2 {
		t.Errorf("%d rows after the second crash, want 2", n)
	}
	if !strings.Contains(d.LogTail(200), "ready for connections") || strings.Count(d.LogTail(2), "\n") != 1 {
		t.Errorf("log:\n%s", d.LogTail(200))
	}

	// A start that is given up leaves a server that can be started.
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := d.Restart(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: %v", err)
	}
	// Stop ends a restart that waits.
	failed := make(chan error)
	go func() { failed <- d.Restart(ctx) }()
	time.Sleep(50 * time.Millisecond)
	for range 2 {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}
	if err := <-failed; !errors.Is(err, errStopped) {
		t.Errorf("restart of a server that is stopped meanwhile: %v", err)
	}
	if err := d.Kill(ctx); !errors.Is(err, errStopped) {
		t.Errorf("kill of a stopped server: %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func cpuOf(t *testing.T, d *Database) time.Duration {
	t.Helper()
	took, err := d.CPU()
	if err != nil {
		t.Fatal(err)
	}
	return took
}

// Two servers know nothing of each other, and all that they listen on is one
// port each, on the loopback interface.
func TestSideBySide(t *testing.T) {
	first := start(t, "sid", Options{})
	second := start(t, "sid", Options{Settings: map[string]string{"innodb_buffer_pool_size": "64M", "innodb_flush_log_at_trx_commit": "2"}})
	mustExec(t, open(t, first.DSN()), "CREATE TABLE mine (id INT)")
	if _, err := open(t, second.DSN()).Exec("SELECT * FROM mine"); err == nil {
		t.Error("both have one database")
	}
	info, err := second.Info(context.Background())
	if err != nil || info.Settings["innodb_buffer_pool_size"] != "67108864" || info.Settings["innodb_flush_log_at_trx_commit"] != "2" {
		t.Errorf("settings of the second: %v, %v", info.Settings, err)
	}
	for _, d := range []*Database{first, second} {
		list, err := d.server.running().Processes()
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("127.0.0.1:%d", d.server.port.Number)
		if got := listening(t, list); len(got) != 1 || got[0] != want {
			t.Errorf("listening on %v, want %s", got, want)
		}
	}
	if err := second.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := open(t, first.DSN()).Ping(); err != nil {
		t.Errorf("the other was killed, and this one is gone: %v", err)
	}
}

// listening asks ss for what the processes listen on.
func listening(t *testing.T, list []process.Status) []string {
	t.Helper()
	out, err := exec.Command("ss", "-Hltnp").Output()
	if err != nil {
		t.Skip("needs ss: ", err)
	}
	var found []string
	for _, line := range strings.Split(string(out), "\n") {
		for _, p := range list {
			if strings.Contains(line, fmt.Sprintf("pid=%d,", p.PID)) {
				found = append(found, strings.Fields(line)[3])
			}
		}
	}
	return found
}

func TestConnect(t *testing.T) {
	d := start(t, "sid", Options{})
	ctx := context.Background()
	s, err := ParseSpec(d.DSN())
	if err != nil {
		t.Fatal(err)
	}
	external, err := Connect(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	info, err := external.Info(ctx)
	if err != nil || info.Server != MySQL || info.Package != "" || info.Settings["log_bin"] != "OFF" || external.Label() != "external" {
		t.Errorf("%+v, %v", info, err)
	}
	_, cpu := external.CPU()
	for name, err := range map[string]error{"cpu": cpu, "kill": external.Kill(ctx), "restart": external.Restart(ctx)} {
		if !errors.Is(err, ErrNotAvailable) || !strings.Contains(err.Error(), "by DSN") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if external.Done() != nil || external.LogTail(3) != "" || external.Stop() != nil || external.Stop() != nil {
		t.Error("a server by DSN has an end, or a log")
	}
	if err := open(t, d.DSN()).Ping(); err != nil {
		t.Errorf("after Stop of the one by DSN: %v", err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", d.server.port.Number)
	for dsn, want := range map[string]string{
		"alice:hush@tcp(" + address + ")/":                                 address + ": it refuses the user name and password (error 1045)",
		"alice:hush@tcp(127.0.0.1:1)/":                                     "connection refused",
		strings.Replace(d.DSN(), "/genreport?", "/nosuch?", 1):             "the user may not make or use the database (error 1044)",
		strings.Replace(d.DSN(), "/genreport?", "/genreport?tls=true&", 1): "tls",
	} {
		s, err := ParseSpec(dsn)
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		_, err = Connect(ctx, s)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "alice") || strings.Contains(err.Error(), (*s.sealed).Passwd) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	if _, err := Connect(ctx, Spec{}); err == nil {
		t.Error("connected to debian")
	}
}

func TestStartFails(t *testing.T) {
	r := rootfs(t, "sid")
	parent := t.TempDir()
	ctx := context.Background()
	_, err := Start(ctx, r, Options{Dir: parent, Settings: map[string]string{"nonsense": "1"}})
	for _, want := range []string{"start a MySQL server from debian:sid (" + r.Package + ")", "it ended after", "the end of its log:\n", "unknown variable 'nonsense=1'"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if _, err := Start(ctx, r, Options{Dir: parent, ReadyTimeout: 200 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "its data directory was not made within 200ms") {
		t.Errorf("too slow: %v", err)
	}
	cancelled, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := Start(cancelled, r, Options{Dir: parent}); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "log") {
		t.Errorf("cancelled: %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A port that someone else holds is recognised.
func TestCollision(t *testing.T) {
	d := start(t, "sid", Options{})
	if err := d.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", d.server.port.Number))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := d.Restart(context.Background()); !errors.Is(err, errCollision) {
		t.Errorf("not taken for a collision: %v", err)
	}
	l.Close()
	if err := d.Restart(context.Background()); err != nil {
		t.Errorf("once it is free again: %v", err)
	}
}

// What the helper process tells.
type helperReport struct {
	Dir, Address string
	Processes    []int
	Error        string
}

// helper starts a server, tells about it, and waits to be killed.
func helper() {
	var report helperReport
	ctx := context.Background()
	r, err := Ensure(ctx, debian.Debian{}, Spec{Suite: "sid"})
	var d *Database
	if err == nil {
		d, err = Start(ctx, r, Options{})
	}
	if err != nil {
		report.Error = err.Error()
	} else {
		report.Dir, report.Address = d.server.dir.Path, fmt.Sprintf("127.0.0.1:%d", d.server.port.Number)
		list, _ := process.Descendants(os.Getpid())
		for _, p := range list {
			report.Processes = append(report.Processes, p.PID)
		}
	}
	json.NewEncoder(os.Stdout).Encode(report)
	io.Copy(io.Discard, os.Stdin) // until the test ends, whatever happens
}

// kill -9 of the process that started a server leaves none of its processes,
// and the next start removes its directory.
func TestKillNine(t *testing.T) {
	rootfs(t, "sid")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var report helperReport
	err = json.NewDecoder(stdout).Decode(&report)
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	if err != nil || report.Error != "" || len(report.Processes) < 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	alive := func() (n int) {
		for _, pid := range report.Processes {
			if p, err := process.Read(pid); err == nil && p.State != 'Z' {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(5 * time.Second); alive() > 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := alive(); n != 0 {
		t.Errorf("%d processes survive", n)
	}
	if conn, err := net.Dial("tcp", report.Address); err == nil {
		conn.Close()
		t.Error("the server still answers")
	}
	if _, err := os.Stat(report.Dir); err != nil {
		t.Errorf("the data directory: %v", err)
	}
	dir, err := makeDir(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	if _, err := os.Stat(report.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next start leaves the dead one's directory: %v", err)
	}
}
