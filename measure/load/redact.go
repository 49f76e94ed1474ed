package load

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// redact takes the password, the user and the host of a URI out of an error's
// text: libraries like to quote what they could not dial, and reasons of
// failures are published.
func redact(err error, uri string) error {
	if err == nil {
		return nil
	}
	text := redactText(err.Error(), uri)
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// address is an IP address with a port, as errors of sockets have it.
var address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}:\d+\b|\[[0-9a-fA-F:]*:[0-9a-fA-F:]*(%\w+)?\]:\d+\b`)

func redactText(text, uri string) string {
	if uri == "" {
		return text
	}
	text = strings.ReplaceAll(text, uri, "(the broker's URI)")
	text = address.ReplaceAllString(text, "(an address)")
	u, err := url.Parse(uri)
	if err != nil {
		return text
	}
	if host := u.Hostname(); host != "localhost" && !net.ParseIP(host).IsLoopback() {
		text = replaceWord(text, host, "(the broker's host)")
	}
	if u.User == nil {
		return text
	}
	text = redactPassword(text, uri, u)
	if user := u.User.Username(); user != "guest" {
		text = replaceWord(text, user, "***")
	}
	return text
}

func redactPassword(text, uri string, u *url.URL) string {
	password, ok := u.User.Password()
	if !ok || password == "" || password == "guest" { // "guest" is public, and a word in other messages
		return text
	}
	secrets := []string{password, url.QueryEscape(password), url.PathEscape(password),
		strings.TrimPrefix(url.UserPassword("", password).String(), ":")}
	if _, rest, ok := strings.Cut(uri, "://"); ok { // as it was written
		authority, _, _ := strings.Cut(rest, "/")
		userinfo := authority[:max(strings.LastIndex(authority, "@"), 0)]
		if _, written, _ := strings.Cut(userinfo, ":"); written != "" {
			secrets = append(secrets, written)
		}
	}
	for _, secret := range secrets {
		if len(secret) < 4 { // parts of words would be replaced, and tell it
			text = replaceWord(text, secret, "***")
			continue
		}
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// replaceWord replaces word where it is not a part of a longer one.
func replaceWord(text, word, by string) string {
	if word == "" {
		return text
	}
	part := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return b.String() + text[at:]
		}
		i += at
		end := i + len(word)
		b.WriteString(text[at:i])
		if i > 0 && part(text[i-1]) && part(word[0]) || end < len(text) && part(text[end]) && part(word[len(word)-1]) {
			b.WriteString(word)
		} else {
			b.WriteString(by)
		}
		at = end
	}
}
