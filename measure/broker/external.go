package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Connect looks at a broker that is already there: it must speak AMQP, with TLS and
// a certificate that verifies for amqps, and its management API must answer if
// one is given. The errors name host and port, so that the user sees which
// broker is meant, but never a user or a password.
func Connect(ctx context.Context, s Spec) (*Broker, error) {
	if s.sealed == nil {
		return nil, fmt.Errorf("connect to %s: it is not a broker given by URL", s.Label())
	}
	r := *s.sealed
	tlsConfig, err := r.tlsConfig()
	if err != nil {
		return nil, fmt.Errorf("connect to the broker at %s: %w", r.address, err)
	}
	b := &Broker{label: s.Label(), uris: &uris{plain: r.uri}, caFile: r.caFile}
	dial := dialTCP
	if r.tls {
		b.uris.tls, b.tls = r.uri, tlsConfig
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			d := tls.Dialer{Config: tlsConfig, NetDialer: &net.Dialer{Timeout: 10 * time.Second}}
			return d.DialContext(ctx, "tcp", address)
		}
	}
	if b.greeting, err = dialGreet(ctx, dial, r.address); err != nil {
		return nil, fmt.Errorf("connect to the broker at %s: %w; %s", r.address, plainError(err), connectHint(err))
	}
	if r.management == nil {
		return b, nil
	}
	transport := &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: tlsConfig.RootCAs},
	}
	b.management = &management{
		base: r.management.String(), user: r.mgmtUser, password: r.mgmtPass,
		client: &http.Client{Timeout: 10 * time.Second, Transport: transport},
	}
	var o overview
	if err := b.management.get(ctx, "/api/overview", &o); err != nil {
		return nil, fmt.Errorf("broker at %s, management at %s: %w", r.address, r.management.Host, err)
	}
	if o.RabbitMQ == "" {
		return nil, fmt.Errorf("broker at %s, management at %s: what answers there is not RabbitMQ's management API", r.address, r.management.Host)
	}
	return b, nil
}

func connectHint(err error) string {
	var verify *tls.CertificateVerificationError
	if errors.As(err, &verify) {
		return "if an authority of your own signed its certificate, add cacertfile=PATH to the URL"
	}
	return "check that it runs, its port, and amqp or amqps"
}
