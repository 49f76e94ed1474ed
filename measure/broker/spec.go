package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Kind says where a broker comes from.
type Kind string

// The kinds of brokers.
const (
	KindDebian Kind = "debian" // a node of ours, from Debian's archive
	KindURL    Kind = "url"    // a broker that is already there
)

// Spec says which broker to measure. Make one with ParseSpec. Whatever verb it
// is printed with and however it is encoded, only its label is seen.
type Spec struct {
	// Suite is Debian's code name, such as "forky"; empty for a broker by URL.
	Suite string

	// Twice a pointer, since fmt can't call the methods of a Spec in an unexported
	// field of another struct, and follows one pointer there with a wrong verb.
	sealed **remote
}

// remote is a broker by URL, credentials included.
type remote struct {
	uri        string // as clients take it, without parameters of our own
	address    string // host:port
	host       string
	tls        bool
	user       string
	password   string
	management *url.URL // nil if none was given; carries no user info
	mgmtUser   string
	mgmtPass   string
	caFile     string
}

const specForms = "debian:SUITE, or amqp://… or amqps://… with an optional ?management=URL"

// ParseSpec parses a --broker argument: debian:SUITE, or an amqp:// or
// amqps:// URL. The URL may carry ?management=URL (percent-encoded or plain;
// without a user of its own the broker's is used) and, for amqps and https,
// cacertfile=PATH. Errors never repeat the URL, since it may hold a password.
func ParseSpec(s string) (Spec, error) {
	if suite, ok := strings.CutPrefix(s, "debian:"); ok {
		if err := Image().CheckSuite(suite); err != nil {
			return Spec{}, err
		}
		return Spec{Suite: suite}, nil
	}
	if strings.HasPrefix(s, "amqp://") || strings.HasPrefix(s, "amqps://") {
		r, err := parseRemote(s)
		if err != nil {
			return Spec{}, fmt.Errorf("broker given by URL: %w", err)
		}
		return Spec{sealed: &r}, nil
	}
	// Only what stands before the first colon is repeated: the rest may hold a password.
	scheme, _, found := strings.Cut(s, ":")
	if !found || strings.ContainsAny(s, "/@?") {
		return Spec{}, errors.New("broker: not understood; write " + specForms)
	}
	return Spec{}, fmt.Errorf("broker: the form %q is not known; write %s", scheme+":", specForms)
}

// Kind returns where the broker comes from.
func (s Spec) Kind() Kind {
	if s.sealed != nil {
		return KindURL
	}
	return KindDebian
}

// Label returns what may be stored and shown: "debian:forky", or "external"
// for a broker by URL, whose host, user and virtual host are nobody's business.
func (s Spec) Label() string {
	if s.sealed != nil {
		return "external"
	}
	return "debian:" + s.Suite
}

// String returns the label.
func (s Spec) String() string { return s.Label() }

// Format writes the label whatever the verb is, %+v and %#v included.
func (s Spec) Format(f fmt.State, _ rune) { io.WriteString(f, s.Label()) }

// MarshalText encodes the label, so that JSON shows no more than that.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.Label()), nil }

// What is wrong is said in our words: the errors of net/url repeat the URL.
var errURL = errors.New("not a valid URL; reserved characters in the user, the password and the virtual host must be percent-encoded (/ is %2F, @ is %40, # is %23, ? is %3F)")

func parseRemote(s string) (*remote, error) {
	u, err := url.Parse(s)
	if err != nil || u.Fragment != "" || u.Hostname() == "" || u.Opaque != "" {
		return nil, errURL
	}
	r := &remote{host: u.Hostname(), tls: u.Scheme == "amqps", user: "guest", password: "guest"}
	if u.User != nil {
		r.user = u.User.Username()
		r.password, _ = u.User.Password()
	} else {
		u.User = url.UserPassword(r.user, r.password)
	}
	if !validPort(u) {
		return nil, errPort
	}
	r.address = net.JoinHostPort(r.host, portOr(u, map[string]string{"amqp": "5672", "amqps": "5671"}))
	if u.RawQuery, err = r.takeParameters(u.RawQuery); err != nil {
		return nil, err
	}
	u.ForceQuery = false
	r.uri = u.String()
	return r, nil
}

// takeParameters keeps our own parameters and returns the others, which the
// clients read themselves.
func (r *remote) takeParameters(query string) (rest string, err error) {
	var others []string
	for _, part := range strings.Split(query, "&") {
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "management":
			if err := r.setManagement(value); err != nil {
				return "", err
			}
		case "cacertfile":
			if r.caFile, err = url.PathUnescape(value); err != nil {
				return "", errors.New("cacertfile: invalid percent-encoding")
			}
		case "connection_timeout":
			others = append(others, part)
		case "heartbeat", "channel_max", "frame_max":
			// Some clients adopt them and some don't, and what is measured would not be what is stated.
			return "", fmt.Errorf("%s can't be set in the URL, since it changes what clients do; leave it out, or set it in the broker's configuration", key)
		default:
			// Not repeated: an unescaped ? in a password ends up here.
			return "", errors.New("a parameter after ? is not known; known are management, cacertfile, connection_timeout")
		}
	}
	return strings.Join(others, "&"), nil
}

func (r *remote) setManagement(value string) error {
	if !strings.HasPrefix(value, "http://") && !strings.HasPrefix(value, "https://") {
		plain, err := url.PathUnescape(value)
		if err != nil {
			return errors.New("management: invalid percent-encoding")
		}
		value = plain
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("management: must be an http:// or https:// URL, such as http://HOST:15672")
	}
	if !validPort(u) {
		return fmt.Errorf("management: %w", errPort)
	}
	r.mgmtUser, r.mgmtPass = r.user, r.password
	if u.User != nil {
		r.mgmtUser = u.User.Username()
		r.mgmtPass, _ = u.User.Password()
	}
	r.management = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}
	return nil
}

// tlsConfig returns the settings that verify the broker's certificate: the
// system's authorities, and those of cacertfile.
func (r *remote) tlsConfig() (*tls.Config, error) {
	if r.caFile == "" {
		return &tls.Config{ServerName: r.host}, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pem, err := os.ReadFile(r.caFile)
	if err != nil {
		return nil, fmt.Errorf("read cacertfile: %w", err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cacertfile %s: no certificate in it (PEM is expected)", r.caFile)
	}
	return &tls.Config{ServerName: r.host, RootCAs: pool}, nil
}

var errPort = errors.New("the port must be a number from 1 to 65535")

// validPort reports whether a URL's port, if it has one, exists.
func validPort(u *url.URL) bool {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || (err == nil && n > 0)
}

func portOr(u *url.URL, defaults map[string]string) string {
	if p := u.Port(); p != "" {
		return p
	}
	return defaults[u.Scheme]
}
