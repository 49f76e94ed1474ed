package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"genreport/measure/debian"

	"github.com/go-sql-driver/mysql"
)

// Options says how a server is run.
type Options struct {
	Settings     map[string]string // variables of the server by name, as innodb_buffer_pool_size; they win over ours
	Dir          string            // parent of the data directory; default one of this user below the temporary directory
	ReadyTimeout time.Duration     // for making the data directory, and for each start; default 90 s
	Log          func(string)      // told what the user should know; may be nil
}

const (
	defaultReadyTimeout = 90 * time.Second
	guestDir            = "/mnt/database" // the data directory as the server sees it
)

// server is a server of ours and its directory.
type server struct {
	rootfs  debian.Rootfs
	kind    string // MySQL or MariaDB
	dir     *debian.DataDir
	port    debian.Port
	options Options

	mu  sync.Mutex      // guards run
	run *debian.Running // the processes started last

	life     sync.Mutex    // held by what ends processes and starts new ones
	stopping chan struct{} // closed by the first stop
	stopOnce sync.Once
	stopErr  error
}

// Start starts a server with a data directory and a port of its own, on the
// loopback interface alone, with the database genreport and one user, who has a
// random password and may use that database; there is no other way in. It returns
// once the server answers. ctx and ReadyTimeout bound the start, not the server's
// life: that ends with Stop, or with this process. The error says why it did
// not start, with the end of its log.
func Start(ctx context.Context, r debian.Rootfs, o Options) (*Database, error) {
	label := "debian:" + r.Suite
	kind := MySQL
	if _, err := os.Stat(filepath.Join(r.Dir, "usr/sbin/mariadbd")); err == nil {
		kind = MariaDB
	}
	fail := func(err error) (*Database, error) {
		return nil, fmt.Errorf("start a %s server from %s (%s): %w", kind, label, r.Package, err)
	}
	if err := debian.NeedTools("bwrap"); err != nil {
		return fail(err)
	}
	if err := checkSettings(o.Settings); err != nil {
		return fail(err)
	}
	if o.ReadyTimeout <= 0 {
		o.ReadyTimeout = defaultReadyTimeout
	}
	dir, err := makeDir(ctx, o)
	if err != nil {
		return fail(err)
	}
	s := &server{rootfs: r, kind: kind, dir: dir, options: o, stopping: make(chan struct{})}
	if err := s.initialise(ctx); err != nil {
		dir.Remove()
		return fail(err)
	}
	d, err := s.open(ctx, label)
	if err != nil && errors.Is(err, errCollision) && ctx.Err() == nil {
		// Someone took the port between our look and the server's. The old
		// reservation is held until there is a new one, or we'd get the same.
		old := s.port
		d, err = s.open(ctx, label)
		debian.ReleasePorts([]debian.Port{old})
	}
	if err != nil {
		debian.ReleasePorts([]debian.Port{s.port})
		dir.Remove()
		return fail(err)
	}
	return d, nil
}

// open takes a port and brings the server up on it, with our database and user.
func (s *server) open(ctx context.Context, label string) (*Database, error) {
	ports, err := debian.ReservePorts(1)
	if err != nil {
		return nil, err
	}
	s.port = ports[0]
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName = databaseName, rand.Text(), databaseName
	c.Net, c.Addr = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port.Number))
	if err := normalise(c); err != nil {
		return nil, err
	}
	d, err := newDatabase(label, c, s)
	if err != nil {
		return nil, err
	}
	// Run by the server before it takes connections; removed at once, since the password is in it.
	first := filepath.Join(s.dir.Path, "first.sql")
	if err := os.WriteFile(first, []byte(firstStatements(c.Passwd)), 0o600); err != nil {
		return nil, err
	}
	defer os.Remove(first)
	if err := s.bringUp(ctx, d, "--init-file="+guestDir+"/first.sql"); err != nil {
		d.access.connector.Close()
		return nil, err
	}
	return d, nil
}

// firstStatements make our database and user. The accounts that a server comes
// with have no password, and nobody needs them: MySQL has root@localhost, MariaDB
// the others too.
func firstStatements(password string) string {
	user := "'" + databaseName + "'@'127.0.0.1'"
	return strings.Join([]string{
		"CREATE DATABASE IF NOT EXISTS " + databaseName + " CHARACTER SET utf8mb4;",
		"DROP USER IF EXISTS " + user + ";",
		"CREATE USER " + user + " IDENTIFIED BY '" + password + "';",
		"GRANT ALL ON " + databaseName + ".* TO " + user + ";",
		"GRANT PROCESS ON *.* TO " + user + ";",
		"DROP USER IF EXISTS 'root'@'localhost', 'root'@'127.0.0.1', 'root'@'::1';",
	}, "\n") + "\n"
}

var settingRule = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func checkSettings(settings map[string]string) error {
	for name := range settings {
		if !settingRule.MatchString(name) {
			return fmt.Errorf("setting %q: not the name of a variable", name)
		}
		if slices.Contains([]string{"datadir", "port", "bind_address", "socket", "init_file", "user"}, name) {
			return fmt.Errorf("setting %q: genreport sets it itself", name)
		}
	}
	return nil
}

func makeDir(ctx context.Context, o Options) (*debian.DataDir, error) {
	dir, err := debian.MakeDataDir(ctx, "database", o.Dir)
	if err != nil {
		return nil, err
	}
	free, err := dir.Free()
	if err == nil {
		err = checkSpace(filepath.Dir(dir.Path), free)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir.Path, "tmp"), 0o700)
	}
	if err != nil {
		dir.Remove()
		return nil, err
	}
	return dir, nil
}

// checkSpace refuses a disk that the server's files (0.2 GB when empty) would soon fill.
func checkSpace(dir string, free uint64) error {
	const need = 1e9
	if free >= need {
		return nil
	}
	return fmt.Errorf("%s has %d MB free: a database server needs %d MB there; free some, or set TMPDIR to a directory on a larger disk", dir, free/1e6, int(need/1e6))
}

// command prepares a command that sees the server's files, and appends what it
// says to the log.
func (s *server) command(ctx context.Context, argv ...string) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(filepath.Join(s.dir.Path, "server.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	// As root it must be told that it may run as such; in a sandbox of this process it may.
	if os.Getuid() == 0 {
		argv = append(argv, "--user=root")
	}
	limit := strconv.FormatUint(debian.DescriptorLimit(), 10)
	cmd := s.rootfs.Command(ctx, debian.CommandOptions{
		Bind: map[string]string{s.dir.Path: guestDir}, Dir: guestDir, OwnNames: true,
	}, append([]string{"sh", "-c", `ulimit -n "$0" && exec "$@"`, limit}, argv...)...)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, log, nil
}

// initialise makes the server's data directory.
func (s *server) initialise(ctx context.Context) error {
	argv := []string{
		"mysqld", "--no-defaults", "--initialize-insecure", "--datadir=" + guestDir + "/data", "--tmpdir=" + guestDir + "/tmp",
		"--secure-file-priv=NULL", // its default is a directory that does not exist
	}
	if s.kind == MariaDB {
		argv = []string{
			"mariadb-install-db", "--no-defaults", "--datadir=" + guestDir + "/data", "--tmpdir=" + guestDir + "/tmp",
			"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		}
	}
	within, cancel := context.WithTimeout(ctx, s.options.ReadyTimeout)
	defer cancel()
	cmd, log, err := s.command(within, argv...)
	if err != nil {
		return err
	}
	defer log.Close()
	wait, err := debian.StartTied(cmd)
	if err != nil {
		return fmt.Errorf("start bwrap: %w", err)
	}
	err = wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return s.failure(fmt.Errorf("its data directory was not made within %v", s.options.ReadyTimeout))
	case err != nil:
		return s.failure(fmt.Errorf("its data directory can't be made (%w)", err))
	}
	return nil
}

// arguments returns the server's command line: ours, overridden by the caller's.
func (s *server) arguments(extra ...string) []string {
	program := "mysqld"
	set := map[string]string{
		"datadir": guestDir + "/data", "tmpdir": guestDir + "/tmp",
		"socket": guestDir + "/server.sock", "pid_file": guestDir + "/server.pid",
		"bind_address": "127.0.0.1", "port": strconv.Itoa(s.port.Number),
		"skip_name_resolve": "ON", "default_time_zone": "+00:00", "character_set_server": "utf8mb4",
		"max_connections": "500",
		// Each commit is on the disk when it is answered. Nothing reads a binary log
		// here: without one, that is one flush instead of two.
		"innodb_flush_log_at_trx_commit": "1", "skip_log_bin": "",
	}
	if s.kind == MySQL {
		set["mysqlx"] = "OFF"            // another port
		set["secure_file_priv"] = "NULL" // its default is a directory that does not exist
	} else {
		program = "mariadbd"
	}
	maps.Copy(set, s.options.Settings)
	if _, ok := s.options.Settings["log_bin"]; ok {
		delete(set, "skip_log_bin")
	}
	argv := []string{program, "--no-defaults"}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		arg := "--" + strings.ReplaceAll(name, "_", "-")
		if set[name] != "" {
			arg += "=" + set[name]
		}
		argv = append(argv, arg)
	}
	return append(argv, extra...)
}

// bringUp starts the server's processes and waits until it answers. If it does
// not, none of them is left.
func (s *server) bringUp(ctx context.Context, d *Database, extra ...string) error {
	// A crash leaves them, and the process number in the lock may be in use again.
	for _, name := range []string{"server.sock", "server.sock.lock", "server.pid"} {
		if err := os.Remove(filepath.Join(s.dir.Path, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	// No context: the server outlives the one of the start.
	cmd, log, err := s.command(context.Background(), s.arguments(extra...)...)
	if err != nil {
		return err
	}
	defer log.Close()
	run, err := debian.Run(cmd)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.run = run
	s.mu.Unlock()
	err = s.waitReady(ctx, run, d)
	if err == nil {
		return nil
	}
	run.Kill()
	if ctx.Err() != nil {
		return ctx.Err() // not the server's fault: what it said says nothing
	}
	return s.failure(err)
}

// waitReady polls until the server answers. Only ours knows the password, so
// that no other one on its port is taken for it.
func (s *server) waitReady(ctx context.Context, run *debian.Running, d *Database) error {
	within, cancel := context.WithTimeout(ctx, s.options.ReadyTimeout)
	defer cancel()
	go func() {
		select {
		case <-run.Done(): // whoever holds our question is not this server
			cancel()
		case <-within.Done():
		}
	}()
	begin := time.Now()
	for {
		err := d.access.connector.PingContext(within)
		if run.Ended() {
			return fmt.Errorf("it ended after %.1f s (%s)", time.Since(begin).Seconds(), run.Exit())
		}
		if err == nil {
			return nil
		}
		select {
		case <-within.Done():
		case <-time.After(20 * time.Millisecond):
		}
		if within.Err() != nil && !run.Ended() {
			return fmt.Errorf("it did not answer within %v: %w", s.options.ReadyTimeout, plainError(err))
		}
	}
}

// errCollision is a port that another program took.
var errCollision = errors.New("its port is taken")

// failure explains why the server, which has ended by now, did not start.
func (s *server) failure(why error) error {
	said := debian.TailFile(s.logFile())
	if strings.Contains(said, "bwrap: ") {
		if hint := debian.NamespaceHint(); hint != "" {
			why = fmt.Errorf("%w; %s", why, hint)
		}
	}
	if s.port.Number != 0 && !debian.PortFree(s.port.Number) {
		why = fmt.Errorf("%w: %w", errCollision, why)
	}
	if strings.TrimSpace(said) == "" {
		return fmt.Errorf("%w; its log is empty", why)
	}
	return fmt.Errorf("%w; the end of its log:\n%s", why, debian.LastLines(said, 12))
}

func (s *server) logFile() string { return filepath.Join(s.dir.Path, "server.log") }

func (s *server) logTail(lines int) string {
	return debian.LastLines(debian.TailFile(s.logFile()), lines)
}

// running returns the processes started last.
func (s *server) running() *debian.Running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

func (s *server) cpu() (time.Duration, error) {
	t, err := s.running().CPU()
	if err != nil {
		return 0, fmt.Errorf("read the database server's CPU time: %w", err)
	}
	return t, nil
}

var errStopped = errors.New("it was stopped, and its data removed")

func (s *server) stopped() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

func (s *server) crash(ctx context.Context) error {
	s.life.Lock()
	defer s.life.Unlock()
	err := ctx.Err()
	if err == nil && s.stopped() {
		err = errStopped
	}
	if err == nil {
		err = s.running().Kill()
	}
	if err != nil {
		return fmt.Errorf("kill the database server: %w", err)
	}
	return nil
}

func (s *server) restart(ctx context.Context, d *Database) error {
	s.life.Lock()
	defer s.life.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := s.running().Kill()
	if err == nil && !s.stopped() {
		err = s.bringUp(ctx, d)
	}
	if s.stopped() {
		err = errStopped
	}
	if err != nil {
		return fmt.Errorf("restart the database server: %w", err)
	}
	return nil
}

// stop ends the server by force: its files are removed anyway.
func (s *server) stop() error {
	s.stopOnce.Do(func() {
		close(s.stopping) // a restart gives up
		s.life.Lock()
		defer s.life.Unlock()
		err := s.running().Kill()
		if err != nil {
			err = fmt.Errorf("stop the database server: %w", err)
		}
		s.stopErr = errors.Join(err, s.dir.Remove())
		debian.ReleasePorts([]debian.Port{s.port})
	})
	return s.stopErr
}
