package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The OpenAPI document describes every route, and no others.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	var document struct {
		Servers []struct{ URL string }
		Paths   map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(interfaceDescription), &document); err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range document.Paths {
		below := document.Servers[0].URL
		if _, elsewhere := item["servers"]; elsewhere {
			below = ""
		}
		for member := range item {
			if method := strings.ToUpper(member); slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}, method) {
				described = append(described, method+" "+below+path)
			}
		}
	}
	s := &Server{}
	var served []string
	for _, route := range s.routes() {
		served = append(served, route.method+" "+base+route.path)
	}
	for _, route := range s.publicRoutes() {
		served = append(served, route.method+" "+route.path)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described %q\nserved %q", described, served)
	}
	if !slices.Contains(served, http.MethodGet+" "+base+"/inboxes") {
		t.Errorf("served %q", served)
	}
}
