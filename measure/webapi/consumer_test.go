package webapi

import (
	"context"
	"errors"
	"testing"
	"time"
)

// fakeDelivery notes what becomes of it.
type fakeDelivery struct {
	did    string
	stored *bool // whether the post was stored by then
	then   bool
}

func (d *fakeDelivery) Ack(multiple bool) error {
	d.did += "ack"
	d.then = *d.stored
	if multiple {
		d.did += " of others too"
	}
	return nil
}

func (d *fakeDelivery) Nack(multiple, requeue bool) error {
	if requeue {
		d.did += "requeue"
	} else {
		d.did += "drop"
	}
	if multiple {
		d.did += " of others too"
	}
	return nil
}

func TestTake(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, body string
		storeErr   error
		want       string
		least      time.Duration
		bad        int
	}{
		{"a post", `{"id":7,"title":"t","content":"c"}`, nil, "ack", 0, 0},
		{"no database", `{"id":7,"title":"t","content":"c"}`, errors.New("no database"), "requeue", 100 * time.Millisecond, 0},
		{"not JSON", `{`, nil, "drop", 0, 1},
		{"not a post", `{"id":7}`, nil, "drop", 0, 1},
	} {
		stored := false
		co := &consumer{store: func(_ context.Context, p post) (bool, error) {
			if p.ID != 7 {
				t.Errorf("%s: post %d was stored", c.name, p.ID)
			}
			stored = c.storeErr == nil
			return true, c.storeErr
		}}
		d := &fakeDelivery{stored: &stored}
		began := time.Now()
		co.take(ctx, ctx, &backoff{}, []byte(c.body), true, d)
		if d.did != c.want {
			t.Errorf("%s: %s, want %s", c.name, d.did, c.want)
		}
		if d.did == "ack" && !d.then {
			t.Errorf("%s: it was acknowledged before it was stored", c.name)
		}
		if took := time.Since(began); took < c.least {
			t.Errorf("%s: tried again after %v", c.name, took)
		}
		var o Outcome
		if co.report(&o); o.BadRequests != c.bad || o.Redelivered != 1 {
			t.Errorf("%s: %d bad and %d redelivered, want %d and 1", c.name, o.BadRequests, o.Redelivered, c.bad)
		}
	}
}
