package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// management asks a broker's management API.
type management struct {
	base     string // URL without credentials
	user     string
	password string
	client   *http.Client
}

type overview struct {
	RabbitMQ string `json:"rabbitmq_version"`
	Erlang   string `json:"erlang_version"`
	Node     string `json:"node"`
	Cluster  string `json:"cluster_name"`
}

// get reads one resource into out. Errors name the resource, neither host nor user.
func (m *management) get(ctx context.Context, resource string, out any) error {
	if err := m.fetch(ctx, resource, out); err != nil {
		return fmt.Errorf("ask the management API for %s: %w", resource, err)
	}
	return nil
}

func (m *management) fetch(ctx context.Context, resource string, out any) error {
	status, body, err := m.ask(ctx, resource)
	if err != nil {
		return err
	}
	switch status {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return m.refused(status, body)
	default:
		return fmt.Errorf("it answers HTTP %d", status)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return errors.New("its answer is not the expected JSON; is this the address of the management plugin?")
	}
	return nil
}

// ask returns the answer, whatever its status is.
func (m *management) ask(ctx context.Context, resource string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+resource, nil)
	if err != nil {
		return 0, nil, errors.New("the URL is not valid")
	}
	req.SetBasicAuth(m.user, m.password)
	resp, err := m.client.Do(req)
	if err != nil {
		return 0, nil, plainError(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<20)); err != nil {
		return 0, nil, plainError(err)
	}
	return resp.StatusCode, body, nil
}

// refused explains a 401 or 403 with the reason that the body gives. It says
// 401 for a wrong password as well as for a user without a tag of management.
func (m *management) refused(status int, body []byte) error {
	text := "it refuses the user name and password"
	if status == http.StatusForbidden {
		text = "the user may not see it"
	}
	text += fmt.Sprintf(" (HTTP %d)", status)
	var answer struct {
		Reason string `json:"reason"`
	}
	// Whatever answers there may repeat what it was sent.
	repeats := func(secret string) bool { return secret != "" && strings.Contains(answer.Reason, secret) }
	if json.Unmarshal(body, &answer) == nil && answer.Reason != "" && len(answer.Reason) < 200 && !repeats(m.user) && !repeats(m.password) {
		text += fmt.Sprintf("; it says %q", answer.Reason)
	}
	return errors.New(text + "; the user must exist there and have the tag monitoring (rabbitmqctl set_user_tags USER monitoring)")
}

// alarms names the resources that have an alarm now; unlike the API's figures
// this does not lag. The check answers 503 when there are some.
func (m *management) alarms(ctx context.Context) ([]string, error) {
	const resource = "/api/health/checks/alarms"
	status, body, err := m.ask(ctx, resource)
	if err != nil || status != http.StatusServiceUnavailable {
		switch {
		case err != nil || status == http.StatusOK:
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			err = m.refused(status, body)
		default:
			err = fmt.Errorf("it answers HTTP %d", status)
		}
		if err != nil {
			err = fmt.Errorf("ask the management API for %s: %w", resource, err)
		}
		return nil, err
	}
	var answer struct {
		Alarms []struct {
			Resource string `json:"resource"`
		} `json:"alarms"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("ask the management API for %s: its answer is not the expected JSON", resource)
	}
	var names []string
	for _, a := range answer.Alarms {
		if a.Resource != "" && !slices.Contains(names, a.Resource) {
			names = append(names, a.Resource)
		}
	}
	return names, nil
}

// queueDepth is how many messages a queue of a virtual host holds, ready and
// unacknowledged, as of up to 5 s ago.
func (m *management) queueDepth(ctx context.Context, vhost, queue string) (int, error) {
	var q struct {
		Messages *int `json:"messages"`
	}
	if err := m.get(ctx, "/api/queues/"+url.PathEscape(vhost)+"/"+url.PathEscape(queue), &q); err != nil {
		return 0, err
	}
	if q.Messages == nil {
		return 0, fmt.Errorf("%w: the management API does not know yet how long the queue is (or its statistics are off)", ErrNotAvailable)
	}
	return *q.Messages, nil
}

// A connection tells its figures every 5 s, and the API collects them every
// 5 s: until both have happened a connection may be missing, or have too few channels.
const (
	managementLag     = 11 * time.Second
	managementTimeout = 20 * time.Second
)

// connections reads the connections with their channels as they were when it
// was called: it takes managementLag for that, and up to managementTimeout.
func (m *management) connections(ctx context.Context) ([]Connection, error) {
	begin := time.Now()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(managementLag):
	}
	for {
		var list []struct {
			Name       string `json:"name"`
			Channels   *int   `json:"channels"`
			ChannelMax *int   `json:"channel_max"`
		}
		if err := m.get(ctx, "/api/connections", &list); err != nil {
			return nil, err
		}
		all := make([]Connection, 0, len(list))
		for _, c := range list {
			if c.Channels != nil && c.ChannelMax != nil {
				all = append(all, Connection{c.Name, *c.Channels, *c.ChannelMax})
			}
		}
		if len(all) == len(list) {
			return all, nil
		}
		if time.Since(begin) > managementTimeout {
			return nil, fmt.Errorf("%w: the management API reported no channel counts in time (its statistics may be off)", ErrNotAvailable)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// plugins lists the enabled plugins of the first node, or nothing where the
// user may not see nodes (it lacks the tag monitoring). A node that has just
// started reports them late.
func (m *management) plugins(ctx context.Context) []string {
	for begin := time.Now(); ; {
		var nodes []struct {
			Plugins []string `json:"enabled_plugins"`
		}
		err := m.get(ctx, "/api/nodes", &nodes)
		if err != nil || len(nodes) == 0 || time.Since(begin) > managementLag {
			return nil
		}
		if len(nodes[0].Plugins) > 0 {
			return nodes[0].Plugins
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// plainError says why a connection failed without the addresses and URLs that
// the errors of net and net/http carry.
func plainError(err error) error {
	var dns *net.DNSError
	var errno syscall.Errno
	var netErr net.Error
	var urlErr *url.Error
	var opErr *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return errors.New("its host name is not known")
		}
		return errors.New("its host name could not be resolved")
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return errors.New("no answer in time")
	case errors.As(err, &urlErr):
		return plainError(urlErr.Err)
	case errors.As(err, &opErr):
		return opErr.Err
	}
	return err
}
