package broker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestParseSpec(t *testing.T) {
	tests := []struct {
		in, suite, label   string
		uri, address, base string
		user, password     string // of management
	}{
		{in: "debian:forky", suite: "forky", label: "debian:forky"},
		{in: "amqp://h", label: "external", uri: "amqp://guest:guest@h", address: "h:5672"},
		{in: "amqps://h/v", label: "external", uri: "amqps://guest:guest@h/v", address: "h:5671"},
		{in: "amqp://u:p@[::1]:7/", label: "external", uri: "amqp://u:p@[::1]:7/", address: "[::1]:7"},
		{in: "amqp://u:p%2Fq@h:1/%2Fv?connection_timeout=9&management=http://h:15672/", label: "external",
			uri: "amqp://u:p%2Fq@h:1/%2Fv?connection_timeout=9", address: "h:1", base: "http://h:15672", user: "u", password: "p/q"},
		{in: "amqp://h?management=https%3A%2F%2Fm%3Ax%2540y%40h%3A15671%2Fsub", label: "external",
			uri: "amqp://guest:guest@h", address: "h:5672", base: "https://h:15671/sub", user: "m", password: "x@y"},
		{in: "amqp://h?management=http://m:x%40y@h:1", label: "external",
			uri: "amqp://guest:guest@h", address: "h:5672", base: "http://h:1", user: "m", password: "x@y"},
	}
	for _, tt := range tests {
		s, err := ParseSpec(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if s.Suite != tt.suite || s.Label() != tt.label || s.String() != tt.label {
			t.Errorf("%s: suite %q, label %q", tt.in, s.Suite, s.Label())
		}
		if tt.suite != "" {
			if s.Kind() != KindDebian {
				t.Errorf("%s: kind %q", tt.in, s.Kind())
			}
			continue
		}
		r := *s.sealed
		if s.Kind() != KindURL || r.uri != tt.uri || r.address != tt.address {
			t.Errorf("%s: kind %q, URI %q, address %q", tt.in, s.Kind(), r.uri, r.address)
		}
		base := ""
		if r.management != nil {
			base = r.management.String()
		}
		if base != tt.base || r.mgmtUser != tt.user || r.mgmtPass != tt.password {
			t.Errorf("%s: management %q as %q, %q", tt.in, base, r.mgmtUser, r.mgmtPass)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", "not understood"},
		{"forky", "not understood"},
		{"docker:rabbit", `"docker:"`},
		{"debian:", "code name"},
		{"debian:../x", "code name"},
		{"debian:Forky", "known good: bookworm, trixie, forky"},
		{"amqp://", "percent-encoded"},
		{"amqp://user:hush/hush@h", "percent-encoded"},
		{"amqp://user:hush#hush@h", "percent-encoded"},
		{"amqp://user:hush?hush@h", "percent-encoded"},
		{"amqp://user:hu%sh@h", "percent-encoded"},
		{"amqp://u:hush@h?managment=http://u:hush@h", "known are management"},
		{"amqp://u:hush@h?management=h:15672", "http://"},
		{"amqp://u:hush@h?management=ftp://u:hush@h", "http://"},
		{"amqp://u:hush@h?management=http://u:hush/hush@h", "http://"},
		{"user:hush@h", "not understood"},
		{"amqp://u:hush@h:99999/", "from 1 to 65535"},
		{"amqp://u:hush@h:65536", "from 1 to 65535"},
		{"amqps://u:hush@h:0/", "from 1 to 65535"},
		{"amqp://u:hush@h?management=http://u:hush@h:99999", "management: the port"},
		{"amqp://u:hush@h?heartbeat=10", "heartbeat can't be set in the URL"},
		{"amqp://u:hush@h?connection_timeout=9&channel_max=5", "channel_max can't be set in the URL"},
		{"amqp://u:hush@h?frame_max=5", "frame_max can't be set in the URL"},
	}
	for _, tt := range tests {
		s, err := ParseSpec(tt.in)
		if err == nil {
			t.Errorf("%s: accepted as %v", tt.in, s)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q does not say %q", tt.in, err, tt.want)
		}
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the password is in %q", tt.in, err)
		}
	}
}

func TestSpecHidesCredentials(t *testing.T) {
	s, err := ParseSpec("amqp://alice:hush@example.org/secretvhost?management=http://bob:hush@example.org:15672")
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{label: s.Label(), uris: &uris{plain: (*s.sealed).uri}}
	nested := struct {
		Spec Spec
		spec Spec
		ptr  *Spec
		b    *Broker
	}{s, s, &s, b}
	for _, v := range []any{s, &s, nested, &nested, []Spec{s}, map[string]Spec{"x": s}, b} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			mustHide(t, fmt.Sprintf(verb, v))
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		mustHide(t, string(data))
	}
	if got, _ := json.Marshal(s); string(got) != `"external"` {
		t.Errorf("JSON is %s", got)
	}
}

func mustHide(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{"alice", "bob", "hush", "example.org", "secretvhost"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q shows %q", text, secret)
		}
	}
}
