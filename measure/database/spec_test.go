package database

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

func TestParseSpec(t *testing.T) {
	for in, want := range map[string]struct{ suite, label, image string }{
		"":              {"", "debian", ""},
		"debian":        {"", "debian", ""},
		"debian:sid":    {"sid", "debian:sid", "mysql-server-core"},
		"debian:trixie": {"trixie", "debian:trixie", "mariadb-server-core"},
		"debian:forky":  {"forky", "debian:forky", "mariadb-server-core"},
	} {
		s, err := ParseSpec(in)
		if err != nil || s.Suite != want.suite || s.Label() != want.label || s.External() {
			t.Errorf("%q: %q, label %q, %v", in, s.Suite, s.Label(), err)
		}
		if want.image != "" && Image(s.Suite).Version != want.image {
			t.Errorf("%q: %s", in, Image(s.Suite).Version)
		}
	}
	for in, want := range map[string]struct{ address, user, password, database string }{
		"u:p@tcp(h)/":                          {"h:3306", "u", "p", "genreport"},
		"u:p@/d":                               {"127.0.0.1:3306", "u", "p", "d"},
		"debian:p/q?r@s@tcp([::1]:7)/d":        {"[::1]:7", "debian", "p/q?r@s", "d"},
		"u@unix(/run/s)/d?charset=latin1":      {"/run/s", "u", "", "d"},
		"u:p@tcp(h:1)/d?loc=Local&timeout=3s":  {"h:1", "u", "p", "d"},
		"u:p@tcp(h:1)/d?parseTime=0&tls=false": {"h:1", "u", "p", "d"},
	} {
		s, err := ParseSpec(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		c := *s.sealed
		if c.Addr != want.address || c.User != want.user || c.Passwd != want.password || c.DBName != want.database || !s.External() {
			t.Errorf("%q: %q %q %q %q", in, c.Addr, c.User, c.Passwd, c.DBName)
		}
		d, err := newDatabase(s.Label(), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := mysql.ParseDSN(d.DSN())
		if err != nil || !again.ParseTime || again.Loc != time.UTC || again.Passwd != want.password || again.DBName != want.database || strings.Count(d.DSN(), "charset=utf8mb4") != 1 {
			t.Errorf("%q: DSN %q, %v", in, d.DSN(), err)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"debian:":                             "code name",
		"debian:Sid":                          "known good: trixie, forky",
		"mysql://u:hush@h/d":                  "not a URL",
		"u:hush":                              "not understood",
		"u:hush@h:3306":                       "not understood",
		"u:hush@tcp(h/d":                      "not understood",
		"u:hush@tcp(h)/%zzhush":               "not understood",
		"u:hush@tcp(h)/d?tls=hush":            "not understood",
		"u:hush@tcp(h)/d?timeout=hush":        "not understood",
		"tcp(h)/hush":                         "no user",
		"u:hush@tcp(h)/d?strict=hush":         "can't be set",
		"u:hush@tcp(h)/d?interpolateParams=1": "can't be set",
		"u:hush@tcp(h)/d?multiStatements=1":   "can't be set",
		"u:hush@tcp(h)/d?compress=true":       "can't be set",
		"u:hush@tcp(h)/d?sql_mode=hush":       "can't be set",
	} {
		s, err := ParseSpec(in)
		if err == nil {
			t.Errorf("%q: accepted as %v", in, s)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestCredentialsAreHidden(t *testing.T) {
	s, err := ParseSpec("alice:hush@tcp(example.org)/secretbase")
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDatabase(s.Label(), *s.sealed, nil)
	if err != nil {
		t.Fatal(err)
	}
	nested := struct {
		Spec Spec
		spec Spec
		ptr  *Spec
		D, d *Database
	}{s, s, &s, d, d}
	for _, v := range []any{s, &s, nested, &nested, []Spec{s}, map[string]Spec{"x": s}, d, []*Database{d}} {
		texts := []string{}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		for _, text := range append(texts, string(data)) {
			for _, secret := range []string{"alice", "hush", "example.org", "secretbase"} {
				if strings.Contains(text, secret) {
					t.Errorf("%q shows %q", text, secret)
				}
			}
		}
	}
	if got, _ := json.Marshal(s); string(got) != `"external"` {
		t.Errorf("JSON is %s", got)
	}
}

func TestParseVersion(t *testing.T) {
	for in, want := range map[string][2]string{
		"9.7.4-2":                              {MySQL, "9.7.4"},
		"8.0.36":                               {MySQL, "8.0.36"},
		"11.8.9-MariaDB-0+deb13u1 from Debian": {MariaDB, "11.8.9"},
		"5.5.5-10.11.6-MariaDB":                {MariaDB, "10.11.6"},
		"new":                                  {MySQL, ""},
	} {
		if server, version := parseVersion(in); server != want[0] || version != want[1] {
			t.Errorf("%s: %s %s", in, server, version)
		}
	}
}

func TestCheckSettings(t *testing.T) {
	if err := checkSettings(map[string]string{"innodb_buffer_pool_size": "1G"}); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"port", "datadir", "a b", "--x", "", "Bind"} {
		if err := checkSettings(map[string]string{bad: "1"}); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
	if err := checkSpace("/d", 999e6); err == nil || !strings.Contains(err.Error(), "/d has 999 MB free") || checkSpace("/d", 1e9) != nil {
		t.Errorf("space: %v", err)
	}
}
