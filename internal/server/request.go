package server

import (
	"net/url"
	"time"
)

// Request is a request that was answered.
type Request struct {
	ID     string // as it was answered in X-Request-Id
	Method string
	Path   string
	Query  url.Values
	User   string // empty where there are no users
	Tenant int64  // 0 without credentials
	Key    int64  // the number of the API key, 0 for that of the options and for one that is not known
	// Reason says in a word why it was refused: that for which somebody was not let in, or not to
	// what they asked for, else what ends the type of the problem. Empty when it was not.
	Reason string
	Remote string // address of the client, or of the proxy before it
	// Form holds the form fields of the body, files left out.
	Form     url.Values
	Status   int
	Received int64 // bytes of the request's body
	Bytes    int64 // of the answer's body
	Duration time.Duration
}
