// Package oapitest is a client of the service that oapi-codegen makes of its OpenAPI document. The tests of
// cmd/archivefs hold the service against it, and nothing else uses it.
//
// After a change of internal/server/openapi.json it is made anew by go generate ./internal/testing/oapitest.
package oapitest

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config config.yaml -o client.gen.go ../../server/openapi.json
