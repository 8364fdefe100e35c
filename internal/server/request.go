package server

import (
	"net/url"
	"time"
)

// Request is a request that was answered.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	// Form holds the form fields of the body, files left out.
	Form     url.Values
	Status   int
	Bytes    int64 // of the answer's body
	Duration time.Duration
}
