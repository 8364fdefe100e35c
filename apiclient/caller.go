package apiclient

import (
	"fmt"
	"net/http"
)

// caller is with whose credentials requests are sent, out of sight of whoever prints a Client.
type caller struct {
	identity  string
	authorize func(http.Header)
	redact    func(string) string
}

func newCaller(c Credentials) *caller {
	return &caller{identity: c.Identity(), authorize: c.authorizer(), redact: c.redactor()}
}

// SetCredentials lets requests that begin from now on carry other credentials, as after a
// change of the password. Those of another Identity are refused: what waits on this machine
// belongs to the old one.
func (c *Client) SetCredentials(cred Credentials) error {
	if err := cred.Validate(); err != nil {
		return err
	}
	if was := c.caller.Load().identity; was != cred.Identity() {
		return fmt.Errorf("they belong to %s, and only others of %s can take the place of those there are", cred.Identity(), was)
	}
	c.caller.Store(newCaller(cred))
	c.lockout.reset()
	return nil
}
