package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// ErrNotAvailable is wrapped by the errors of questions that a database can't
// answer, such as the CPU time of one by DSN. The text says why, in words for a
// reader, and holds no address.
var ErrNotAvailable = errors.New("not available")

// databaseName names the database that is made for us, and our user.
const databaseName = "genreport"

// A Database is a running server with a database in it for us: a server of ours
// (Start) or one that is already there (Connect). Its methods may be called from
// several goroutines.
type Database struct {
	label  string
	access *access
	server *server // nil for one by DSN
}

// access holds credentials. It stands behind a pointer for the same reason as
// those of Spec.
type access struct {
	config    *mysql.Config
	connector *sql.DB // for our own questions; opens a connection per question
}

// Info is what a server says of itself. What it does not say is empty.
type Info struct {
	Server   string            // MySQL or MariaDB
	Version  string            // such as "9.7.4"
	Package  string            // version of Debian's package; empty for one by DSN
	Settings map[string]string // effective values of the variables that matter for durability and speed
}

// settings are the variables of Info. No server has all of them.
func settings() []string {
	return []string{
		// Durability. With the binary log off, a commit waits for the redo log alone.
		"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_doublewrite", "innodb_flush_method",
		// Speed.
		"innodb_buffer_pool_size", "innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_buffer_size", "innodb_io_capacity",
		"innodb_use_native_aio", "max_connections", "thread_handling", "transaction_isolation", "performance_schema", "autocommit",
		"character_set_server", "collation_server", "time_zone",
	}
}

func newDatabase(label string, c *mysql.Config, s *server) (*Database, error) {
	own := c.Clone()
	own.Logger = &mysql.NopLogger{} // it would write what is expected while a server starts to standard error
	connector, err := mysql.NewConnector(own)
	if err != nil {
		return nil, errors.New("the DSN can't be used") // the error repeats parts of it
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(0)
	return &Database{label: label, access: &access{config: c, connector: db}, server: s}, nil
}

// Connect looks at a server that is already there, and makes the database
// genreport if the DSN names none. The errors name host and port, so that the
// user sees which server is meant, but never a user or a password.
func Connect(ctx context.Context, s Spec) (*Database, error) {
	if s.sealed == nil {
		return nil, fmt.Errorf("connect to %s: it is not a database given by DSN", s.Label())
	}
	c := (*s.sealed).Clone()
	fail := func(err error) (*Database, error) {
		return nil, fmt.Errorf("connect to the database server at %s: %w", c.Addr, plainError(err))
	}
	if c.DBName == databaseName {
		without := c.Clone()
		without.DBName = ""
		d, err := newDatabase(s.Label(), without, nil)
		if err != nil {
			return fail(err)
		}
		defer d.access.connector.Close()
		if _, err := d.access.connector.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+databaseName+" CHARACTER SET utf8mb4"); err != nil {
			return fail(err)
		}
	}
	d, err := newDatabase(s.Label(), c, nil)
	if err != nil {
		return fail(err)
	}
	if err := d.access.connector.PingContext(ctx); err != nil {
		d.access.connector.Close()
		return fail(err)
	}
	return d, nil
}

// plainError takes user names and texts of the server out of an error.
func plainError(err error) error {
	var said *mysql.MySQLError
	if !errors.As(err, &said) {
		return err
	}
	switch said.Number {
	case 1045, 1698, 3118: // access denied, by another method too; account locked
		return fmt.Errorf("it refuses the user name and password (error %d)", said.Number)
	case 1044, 1142, 1227:
		return fmt.Errorf("the user may not make or use the database (error %d): name one that it may use in the DSN, or grant it", said.Number)
	case 1049:
		return fmt.Errorf("the database that the DSN names does not exist (error %d)", said.Number)
	case 1040:
		return fmt.Errorf("it has too many connections (error %d)", said.Number)
	}
	return fmt.Errorf("it answers with error %d", said.Number)
}

// DSN returns the DSN for github.com/go-sql-driver/mysql, with user and
// password: hand it to clients, never log or store it. Text is utf8mb4, times are
// parsed, in UTC.
func (d *Database) DSN() string { return d.access.config.FormatDSN() }

// Label returns what may be stored and shown.
func (d *Database) Label() string { return d.label }

// String returns the label.
func (d *Database) String() string { return d.label }

// Format writes the label whatever the verb is: a Database knows credentials.
func (d *Database) Format(f fmt.State, _ rune) { io.WriteString(f, d.label) }

// MarshalText encodes the label.
func (d *Database) MarshalText() ([]byte, error) { return []byte(d.label), nil }

// Info asks the server for its version and settings.
func (d *Database) Info(ctx context.Context) (Info, error) {
	info, err := d.info(ctx)
	if err != nil {
		return Info{}, fmt.Errorf("ask the database server for its version and settings: %w", plainError(err))
	}
	return info, nil
}

func (d *Database) info(ctx context.Context) (Info, error) {
	info := Info{Settings: map[string]string{}}
	var version string
	if err := d.access.connector.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return Info{}, err
	}
	info.Server, info.Version = parseVersion(version)
	if d.server != nil {
		info.Package = d.server.rootfs.Package
	}
	rows, err := d.access.connector.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+strings.Join(settings(), "','")+"')")
	if err != nil {
		return Info{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return Info{}, err
		}
		info.Settings[strings.ToLower(name)] = value
	}
	return info, rows.Err()
}

var versionRule = regexp.MustCompile(`^(?:5\.5\.5-)?(\d+\.\d+\.\d+)`)

// parseVersion reads such as "9.7.4-2" and "11.8.9-MariaDB-0+deb13u1 from Debian".
func parseVersion(text string) (server, version string) {
	server = MySQL
	if strings.Contains(text, MariaDB) {
		server = MariaDB
	}
	if m := versionRule.FindStringSubmatch(text); m != nil {
		version = m[1]
	}
	return server, version
}

// CPU returns the user and system CPU time, in steps of 10 ms, of the server's
// processes since they were started last: Restart begins at 0.
func (d *Database) CPU() (time.Duration, error) {
	if d.server == nil {
		return 0, notByDSN("read its CPU time")
	}
	return d.server.cpu()
}

// Kill ends the server at once (SIGKILL), which is a crash, and returns once it is
// gone. Restart brings it back.
func (d *Database) Kill(ctx context.Context) error {
	if d.server == nil {
		return notByDSN("kill it")
	}
	return d.server.crash(ctx)
}

// Restart starts a server that was killed, or has ended, again with the same data
// directory, port and credentials, and returns once it has recovered and
// answers; one that runs is killed first. If it fails, the server is down and
// may be restarted again.
func (d *Database) Restart(ctx context.Context) error {
	if d.server == nil {
		return notByDSN("restart it")
	}
	return d.server.restart(ctx, d)
}

// LogTail returns the last lines of the server's log; "" for one by DSN.
func (d *Database) LogTail(lines int) string {
	if d.server == nil {
		return ""
	}
	return d.server.logTail(lines)
}

// Done is closed when the server's processes have ended. It is nil for one by
// DSN. After Restart it returns the channel of the new processes.
func (d *Database) Done() <-chan struct{} {
	if d.server == nil {
		return nil
	}
	return d.server.running().Done()
}

// Stop ends the server and removes its data directory. A server by DSN goes on, and
// keeps its database. It does nothing the second time.
func (d *Database) Stop() error {
	d.access.connector.Close()
	if d.server == nil {
		return nil
	}
	return d.server.stop()
}

func notByDSN(what string) error {
	return fmt.Errorf("%w: the database was given by DSN, and genreport can %s only where it started the server itself", ErrNotAvailable, what)
}
