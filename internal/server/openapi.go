package server

import (
	_ "embed" // the description of the interface
	"net/http"
)

// interfaceDescription is the OpenAPI document of the operations, written by hand. The tests
// hold every answer against it.
//
//go:embed openapi.json
var interfaceDescription string

// openAPI answers GET /openapi.json.
func (s *Server) openAPI(w *response, _ *http.Request) error {
	w.body("application/json", []byte(interfaceDescription))
	return nil
}
