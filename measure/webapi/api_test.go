package webapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"genreport/measure/load"
)

const validPost = `{"title":"Test Post","content":"This is a test"}`

// ask posts a body and returns the answer with its JSON.
func ask(t *testing.T, h http.Handler, method, path, body string) (*http.Response, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	r := w.Result()
	var fields map[string]any
	if err := json.NewDecoder(r.Body).Decode(&fields); err != nil {
		t.Fatalf("%s %s: status %d, and the body is not JSON: %v", method, path, r.StatusCode, err)
	}
	return r, fields
}

func testAPI(store func(context.Context, post) (int, error)) *api {
	gin.SetMode(gin.ReleaseMode)
	a := newAPI()
	a.store = store
	return a
}

func TestBadRequests(t *testing.T) {
	a := testAPI(func(context.Context, post) (int, error) {
		t.Error("a bad post was stored")
		return http.StatusCreated, nil
	})
	bodies := []string{
		``, `{`, `[]`, `"x"`,
		`{"content":"c"}`, `{"title":"","content":"c"}`, `{"title":"t"}`, `{"title":"t","content":""}`,
		`{"title":7,"content":"c"}`, `{"id":"7","title":"t","content":"c"}`, `{"id":-1,"title":"t","content":"c"}`,
		`{"id":1.5,"title":"t","content":"c"}`, `{"id":0,"title":"t","content":"c"}`,
		fmt.Sprintf(`{"title":%q,"content":"c"}`, strings.Repeat("题", 256)),
		fmt.Sprintf(`{"title":"t","content":%q}`, strings.Repeat("c", 65536)),
		fmt.Sprintf(`{"title":"t","content":%q}`, strings.Repeat("c", 1<<20)),
	}
	for _, body := range bodies {
		r, fields := ask(t, a.handler(), "POST", "/posts", body)
		if text, _ := fields["error"].(string); r.StatusCode != 400 || text == "" {
			t.Errorf("%.60s: status %d and %v, want 400 and an error", body, r.StatusCode, fields)
		}
	}
	var o Outcome
	a.report(&o)
	if o.Requests != len(bodies) || o.BadRequests != len(bodies) {
		t.Errorf("counted %+v, want %d bad requests", o, len(bodies))
	}
}

func TestAnswers(t *testing.T) {
	var got []post
	status, failure := http.StatusCreated, error(nil)
	a := testAPI(func(_ context.Context, p post) (int, error) {
		got = append(got, p)
		return status, failure
	})
	h := a.handler()
	r, fields := ask(t, h, "POST", "/posts", `{"id":42,"title":"t","content":"帖子"}`)
	if r.StatusCode != 201 || fields["id"] != 42.0 || got[0] != (post{42, "t", "帖子"}) {
		t.Errorf("status %d, %v, stored %+v", r.StatusCode, fields, got)
	}
	longest := fmt.Sprintf(`{"title":%q,"content":%q}`, strings.Repeat("题", 255), strings.Repeat("c", 65535))
	ask(t, h, "POST", "/posts", longest)
	ask(t, h, "POST", "/posts", validPost)
	if len(got) != 3 || got[1].ID == 0 || got[2].ID <= got[1].ID {
		t.Errorf("the ids of posts without one are %d and %d, want rising ones", got[1].ID, got[2].ID)
	}

	failure = errors.New("dial tcp 10.1.2.3:3306: no")
	r, fields = ask(t, h, "POST", "/posts", validPost)
	if r.StatusCode != 503 || r.Header.Get("Retry-After") != "1" {
		t.Errorf("without a database: status %d, Retry-After %q", r.StatusCode, r.Header.Get("Retry-After"))
	}
	if strings.Contains(fmt.Sprint(fields), "10.1.2.3") {
		t.Errorf("the answer tells a stranger %v", fields)
	}
	var o Outcome
	a.report(&o)
	if o.Requests != 4 || o.Accepted != 3 || o.Refused != 1 || o.BadRequests+o.Errors != 0 {
		t.Errorf("counted %+v, want 3 accepted and 1 refused", o)
	}
}

// A request of which the code made a mess is answered and counted.
func TestPanicIsAnError(t *testing.T) {
	gin.DefaultErrorWriter = io.Discard
	a := testAPI(func(context.Context, post) (int, error) { panic("oops") })
	w := httptest.NewRecorder()
	a.handler().ServeHTTP(w, httptest.NewRequest("POST", "/posts", strings.NewReader(validPost)))
	var o Outcome
	a.report(&o)
	if w.Code != 500 || o.Requests != 1 || o.Errors != 1 {
		t.Errorf("status %d, counted %+v", w.Code, o)
	}
}

func TestHealth(t *testing.T) {
	var failure error
	a := testAPI(nil)
	a.healthy = func(context.Context) error { return failure }
	if r, _ := ask(t, a.handler(), "GET", "/healthz", ""); r.StatusCode != 200 {
		t.Errorf("status %d, want 200", r.StatusCode)
	}
	failure = errDown
	if r, _ := ask(t, a.handler(), "GET", "/healthz", ""); r.StatusCode != 503 || r.Header.Get("Retry-After") != "1" {
		t.Errorf("status %d, want 503 with Retry-After", r.StatusCode)
	}
	var o Outcome
	if a.report(&o); o.Requests != 0 {
		t.Errorf("%d posts counted", o.Requests)
	}
}

// No two processes make the same ids.
func TestIDs(t *testing.T) {
	a, b := newIDSource(), newIDSource()
	first, second := a.next(), a.next()
	if second != first+1 || first>>32 == 0 || first>>63 != 0 || b.next()>>32 == first>>32 {
		t.Errorf("ids %x, %x and %x", first, second, b.next())
	}
}

// A post is accepted once the broker has confirmed it, and never before.
func TestConfirms(t *testing.T) {
	for _, c := range []struct {
		name   string
		ch     *fakeChannel
		status int
		whole  bool // the channel is used again
	}{
		{"confirmed", &fakeChannel{confirm: &fakePending{taken: true}}, 202, true},
		{"nacked, or the connection is lost", &fakeChannel{confirm: &fakePending{}}, 503, false},
		{"never answered", &fakeChannel{confirm: &fakePending{never: true}}, 503, false},
		{"confirmed and given back", &fakeChannel{confirm: &fakePending{taken: true}, back: true}, 503, false},
		{"can't be written", &fakeChannel{sendErr: errors.New("broken pipe")}, 503, false},
		{"without confirms", &fakeChannel{}, 202, true},
	} {
		p := newPool(1, func() (channel, error) { return c.ch, nil })
		q := &queue{pool: p, writable: func(context.Context) error { return nil }, clock: load.NewClock(), stage: newStage()}
		a := testAPI(nil)
		a.timeout = 50 * time.Millisecond
		a.publishTo(q)
		began := time.Now()
		r, _ := ask(t, a.handler(), "POST", "/posts", `{"id":7,"title":"t","content":"c"}`)
		if r.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.name, r.StatusCode, c.status)
		}
		if r.StatusCode == 503 && r.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: Retry-After is %q", c.name, r.Header.Get("Retry-After"))
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s: it took %v", c.name, took)
		}
		var sent post
		if err := json.Unmarshal(c.ch.body, &sent); err != nil || sent != (post{7, "t", "c"}) {
			t.Errorf("%s: it sent %q", c.name, c.ch.body)
		}
		slot := <-p.slots // comes back in any case
		if whole := slot != nil; whole != c.whole || c.ch.isClosed == c.whole {
			t.Errorf("%s: the channel is in the pool: %v, closed: %v", c.name, whole, c.ch.isClosed)
		}
		want := int64(0)
		if c.status == 202 {
			want = 1
		}
		if n := q.stage.encode().Count; n != want {
			t.Errorf("%s: %d publishes were timed, want %d", c.name, n, want)
		}
	}
}
