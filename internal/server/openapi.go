package server

import (
	_ "embed" // the description of the interface
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// interfaceDescription is the OpenAPI document of the operations, written by hand. The tests
// hold every answer against it.
//
//go:embed openapi.json
var interfaceDescription string

// openAPI answers GET /openapi.json: the document that describe makes once.
func openAPI(describe func() ([]byte, error)) handler {
	describe = sync.OnceValues(describe)
	return func(w *response, _ *request) error {
		text, err := describe()
		if err != nil {
			return err
		}
		w.body("application/json", text)
		return nil
	}
}

// describeServed is the OpenAPI document of what the options leave in, with what it refers to.
func (s *Server) describeServed() ([]byte, error) {
	if !s.options.OnlyEight {
		return []byte(interfaceDescription), nil
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(interfaceDescription), &document); err != nil {
		return nil, fmt.Errorf("read the description of the interface: %w", err)
	}
	served := map[string]bool{}
	for _, r := range slices.Concat(s.routes(), s.publicRoutes()) {
		served[strings.ToLower(r.method)+" "+strings.TrimPrefix(r.path, base)] = s.served(r)
	}
	paths := member(document, "paths")
	for path := range paths {
		item, kept := member(paths, path), false
		for method := range item {
			keep, operation := served[method+" "+path]
			if operation && !keep {
				delete(item, method)
			}
			kept = kept || keep
		}
		if !kept {
			delete(paths, path)
		}
	}
	components := member(document, "components")
	used := map[string]bool{}
	refer(paths, components, used)
	for kind := range components {
		for name := range member(components, kind) {
			if kind != "securitySchemes" && !used[componentRef(kind, name)] {
				delete(member(components, kind), name)
			}
		}
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the description of the interface: %w", err)
	}
	return text, nil
}

// member is an object in another one, empty where there is none.
func member(object map[string]any, name string) map[string]any {
	found, _ := object[name].(map[string]any)
	return found
}

func componentRef(kind, name string) string { return "#/components/" + kind + "/" + name }

// refer marks the components that a part of the document refers to, and those that they refer to.
func refer(part any, components map[string]any, used map[string]bool) {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			refer(item, components, used)
		}
	case map[string]any:
		if ref, is := part["$ref"].(string); is && !used[ref] {
			used[ref] = true
			kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
			refer(member(components, kind)[name], components, used)
		}
		for _, value := range part {
			refer(value, components, used)
		}
	}
}
