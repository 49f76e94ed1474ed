package load

import (
	"errors"
	"net/url"
	"strings"
)

// redact takes what a URI keeps secret out of an error's text: libraries like
// to quote what they could not dial.
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

func redactText(text, uri string) string {
	if uri == "" {
		return text
	}
	text = strings.ReplaceAll(text, uri, "(the broker's URI)")
	u, err := url.Parse(uri)
	if err != nil || u.User == nil {
		return text
	}
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
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}
