package webapi

import (
	"strings"
	"testing"
)

func apiJob() Job {
	return Job{Role: API, Mode: Sync, Listen: "127.0.0.1:0", DSN: "u:p@tcp(127.0.0.1:1)/d", DBPool: 4, Limit: 60}
}

func consumerJob() Job {
	return Job{Role: Consumer, DSN: "u:p@tcp(127.0.0.1:1)/d", DBPool: 4, URI: "amqp://127.0.0.1:1", Queue: "q", Workers: 1, Prefetch: 10, Limit: 60}
}

func generateJob() Job {
	return Job{Role: Generate, URL: "http://127.0.0.1:1/posts", Rate: 100, Duration: 10, Connections: 4, FirstID: 1, Limit: 60}
}

func TestValidate(t *testing.T) {
	confirm := func() Job {
		return Job{Role: API, Mode: AsyncConfirm, Listen: "127.0.0.1:0", URI: "amqp://127.0.0.1:1", Queue: "q", Channels: 8, Limit: 60}
	}
	for _, c := range []struct {
		name   string
		job    func() Job
		change func(*Job)
		want   string // of the error; "": none
	}{
		{"api", apiJob, func(*Job) {}, ""},
		{"api, confirms", confirm, func(*Job) {}, ""},
		{"consumer", consumerJob, func(*Job) {}, ""},
		{"generator", generateJob, func(*Job) {}, ""},
		{"closed loop", generateJob, func(j *Job) { j.Rate = 0 }, ""},
		{"by number", generateJob, func(j *Job) { j.Duration, j.Messages = 0, 5 }, ""},

		{"no role", apiJob, func(j *Job) { j.Role = "" }, "unknown role"},
		{"no limit", apiJob, func(j *Job) { j.Limit = 0 }, "limit_s"},
		{"a limit of days", apiJob, func(j *Job) { j.Limit = 1e5 }, "limit_s"},
		{"no mode", apiJob, func(j *Job) { j.Mode = "" }, "unknown mode"},
		{"not loopback", apiJob, func(j *Job) { j.Listen = "0.0.0.0:9580" }, "loopback"},
		{"no port", apiJob, func(j *Job) { j.Listen = "127.0.0.1" }, "loopback"},
		{"no database", apiJob, func(j *Job) { j.DSN = "" }, "dsn"},
		{"no pool", apiJob, func(j *Job) { j.DBPool = 0 }, "db_pool"},
		{"no channels", confirm, func(j *Job) { j.Channels = 0 }, "channels"},
		{"no queue", confirm, func(j *Job) { j.Queue = "" }, "queue"},
		{"no workers", consumerJob, func(j *Job) { j.Workers = 0 }, "workers"},
		{"prefetch", consumerJob, func(j *Job) { j.Prefetch = 70000 }, "prefetch"},
		{"no broker", consumerJob, func(j *Job) { j.URI = "" }, "uri"},
		{"https", generateJob, func(j *Job) { j.URL = "https://127.0.0.1/posts" }, "url"},
		{"password", generateJob, func(j *Job) { j.URL = "http://u:p@127.0.0.1/posts" }, "url"},
		{"endless", generateJob, func(j *Job) { j.Duration = 0 }, "would not end"},
		{"no connections", generateJob, func(j *Job) { j.Connections = 0 }, "connections"},
		{"no first id", generateJob, func(j *Job) { j.FirstID = 0 }, "first_id"},
		{"too many", generateJob, func(j *Job) { j.Rate, j.Duration = 1e5, 21 }, "2100000, the most is"},
		{"too long", generateJob, func(j *Job) { j.Rate, j.Duration, j.Messages = 1, 0, 2000 }, "after 1999 s"},
		{"negative rate", generateJob, func(j *Job) { j.Rate = -1 }, "rate_per_s"},
	} {
		j := c.job()
		c.change(&j)
		err := j.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestSends(t *testing.T) {
	for _, c := range []struct {
		rate, duration float64
		messages, want int
	}{
		{1000, 2, 0, 2000},
		{1000, 2, 500, 500},
		{3, 1.5, 0, 5}, // at 0, 1/3, 2/3, 1 and 4/3 s
		{1000, 0, 7, 7},
		{0, 5, 0, MaxRequests},
		{0, 5, 7, 7},
	} {
		if got := (Job{Rate: c.rate, Duration: c.duration, Messages: c.messages}).sends(); got != c.want {
			t.Errorf("%v/s for %v s, at most %d: %d, want %d", c.rate, c.duration, c.messages, got, c.want)
		}
	}
}

func TestIntended(t *testing.T) {
	o := Outcome{Began: 1_000_000_000, FirstID: 101, Rate: 250}
	for id, want := range map[uint64]int64{101: 1_000_000_000, 102: 1_004_000_000, 351: 2_000_000_000} {
		if got := o.Intended(id); got != want {
			t.Errorf("post %d: %d, want %d", id, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ dsn, uri, text, want string }{
		{"bench:s3cr3t@tcp(127.0.0.1:9530)/posts?parseTime=true", "",
			"dial tcp 127.0.0.1:9530: refused, with s3cr3t", "dial tcp (an address): refused, with ***"},
		{"bench:s3cr3t@tcp(127.0.0.1:9530)/posts", "",
			"Access denied for user 'bench'@'localhost' (using password: YES)", "Access denied for user '***'@'localhost' (using password: YES)"},
		{"bench:p@ss/wo:rd@unix(/home/x/mysql.sock)/posts", "",
			"dial unix /home/x/mysql.sock: p@ss/wo:rd", "dial unix (an address): ***"},
		{"bench:s3cr3t@tcp(127.0.0.1:9530)/posts", "",
			"invalid DSN bench:s3cr3t@tcp(127.0.0.1:9530)/posts", "invalid DSN (the database's DSN)"},
		{"no DSN at all", "", "fine", "fine"},
		{"", "amqp://app:hunter22@127.0.0.1:9510/", "no access for app with hunter22", "no access for *** with ***"},
	} {
		if got := (Job{DSN: c.dsn, URI: c.uri}).redact(c.text); got != c.want {
			t.Errorf("%s\ngives %s\nwant  %s", c.text, got, c.want)
		}
	}
}
