package database

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Spec says which database server to measure. Make one with ParseSpec; the zero
// value is a server of ours. Whatever verb it is printed with and however it is
// encoded, only its label is seen.
type Spec struct {
	// Suite is Debian's code name, such as "sid"; empty for the default and for
	// a server by DSN.
	Suite string

	// Twice a pointer, since fmt can't call the methods of a Spec in an unexported
	// field of another struct, and follows one pointer there with a wrong verb.
	sealed **mysql.Config
}

const specForms = "debian, debian:SUITE (sid has MySQL, others MariaDB), or the DSN of a server that is there: USER:PASSWORD@tcp(HOST:3306)/DATABASE"

// ParseSpec parses a --database argument: nothing or "debian" for MySQL of ours,
// debian:SUITE, or a DSN as github.com/go-sql-driver/mysql takes it. Without a
// database in it, one named genreport is made there. Errors never repeat the DSN, since
// it may hold a password.
func ParseSpec(s string) (Spec, error) {
	if s == "" || s == "debian" {
		return Spec{}, nil
	}
	if suite, ok := strings.CutPrefix(s, "debian:"); ok {
		if strings.ContainsAny(s, "@/") { // a user named debian
			return parseDSN(s)
		}
		if err := Image(suite).CheckSuite(suite); err != nil {
			return Spec{}, err
		}
		return Spec{Suite: suite}, nil
	}
	return parseDSN(s)
}

func parseDSN(s string) (Spec, error) {
	// What is wrong is said in our words: the driver's errors repeat parts of the DSN.
	if strings.Contains(s, "://") {
		return Spec{}, errors.New("database: a DSN is not a URL; write " + specForms)
	}
	if err := checkParameters(s); err != nil {
		return Spec{}, err
	}
	c, err := mysql.ParseDSN(s)
	if err != nil {
		return Spec{}, errors.New("database: not understood; write " + specForms)
	}
	if c.User == "" {
		return Spec{}, errors.New("database: the DSN has no user; write " + specForms)
	}
	if c.DBName == "" {
		c.DBName = databaseName
	}
	if err := normalise(c); err != nil {
		return Spec{}, errors.New("database: " + specForms)
	}
	return Spec{sealed: &c}, nil
}

// checkParameters refuses what would change what clients send: what is measured
// would not be what is stated. The driver takes any other name for a variable of the session.
func checkParameters(dsn string) error {
	_, query, _ := strings.Cut(dsn[strings.LastIndex(dsn, "/")+1:], "?")
	for part := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(part, "=")
		switch key {
		case "", "tls", "timeout", "readTimeout", "writeTimeout", "allowNativePasswords", "allowCleartextPasswords", "allowFallbackToPlaintext":
		case "charset", "parseTime", "loc": // ours are taken
		default:
			// Not repeated: a part of a password may end up here.
			return errors.New("database: a parameter after ? is not known, or can't be set since it changes what clients do; known are tls, timeout, readTimeout, writeTimeout, allowNativePasswords, allowCleartextPasswords, allowFallbackToPlaintext")
		}
	}
	return nil
}

// normalise sets what every client of ours relies on.
func normalise(c *mysql.Config) error {
	c.ParseTime = true
	c.Loc = time.UTC
	c.Collation = ""
	return c.Apply(mysql.Charset("utf8mb4", ""))
}

// Label returns what may be stored and shown: "debian", "debian:sid", or
// "external" for a server by DSN, whose host and user are nobody's business.
func (s Spec) Label() string {
	switch {
	case s.sealed != nil:
		return "external"
	case s.Suite == "":
		return "debian"
	}
	return "debian:" + s.Suite
}

// External reports whether it is a server that is already there.
func (s Spec) External() bool { return s.sealed != nil }

// String returns the label.
func (s Spec) String() string { return s.Label() }

// Format writes the label whatever the verb is, %+v and %#v included.
func (s Spec) Format(f fmt.State, _ rune) { io.WriteString(f, s.Label()) }

// MarshalText encodes the label, so that JSON shows no more than that.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.Label()), nil }
