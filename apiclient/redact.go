package apiclient

import (
	"net/url"
	"strings"
)

// shortestSecret is the length in bytes below which a secret is not looked for in
// texts: replacing "a" would make every message unreadable.
const shortestSecret = 4

// redactor returns what takes the secrets of c out of a text of the service, which
// may repeat in an error what it was sent.
func (c Credentials) redactor() func(string) string {
	var pairs []string
	for _, secret := range []string{c.basic(), c.APIKey, c.Password} {
		if len(secret) < shortestSecret {
			continue
		}
		pairs = append(pairs, secret, "***")
		if escaped := url.QueryEscape(secret); escaped != secret {
			pairs = append(pairs, escaped, "***")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
