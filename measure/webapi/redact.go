package webapi

import (
	"net/url"
	"strings"

	"genreport/measure/load"
)

// redact takes the job's credentials and addresses out of a text.
func (j Job) redact(text string) string {
	return redactDSN(load.RedactText(text, j.URI), j.DSN)
}

// redactDSN is for user:password@network(address)/name?options, as
// go-sql-driver/mysql reads it.
func redactDSN(text, dsn string) string {
	if dsn == "" {
		return text
	}
	text = strings.ReplaceAll(text, dsn, "(the database's DSN)")
	head := dsn
	if i := strings.LastIndex(dsn, "/"); i >= 0 {
		head = dsn[:i]
	}
	at := strings.LastIndex(head, "@")
	user, password, _ := strings.Cut(head[:max(at, 0)], ":")
	if _, address, ok := strings.Cut(head[at+1:], "("); ok { // a socket is a path of this machine
		if address = strings.TrimSuffix(address, ")"); address != "" {
			text = strings.ReplaceAll(text, address, "(an address)")
		}
	}
	uri := url.URL{Scheme: "mysql", Host: "localhost", User: url.UserPassword(user, password)}
	return load.RedactText(text, uri.String())
}
