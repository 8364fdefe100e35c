package credentials

import (
	"fmt"
	"io"
)

// Login is what login keeps for an archive. Printing it in any way but as JSON, which is for
// the store, shows no secret.
type Login struct {
	// Service is the address that the credentials are for: they are sent to no other.
	Service  string `json:"service"`
	APIKey   string `json:"apiKey"`
	CloudID  string `json:"cloudId,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	// Identity is whose the credentials are by the user's word (login --replaces); empty for nobody's else.
	Identity string `json:"identity,omitempty"`
}

// Format writes whose credentials they are, whatever the verb.
func (l Login) Format(f fmt.State, _ rune) {
	// A fmt.State does not fail; what is behind it reports its own errors.
	_, _ = io.WriteString(f, "login at "+l.Service)
}
