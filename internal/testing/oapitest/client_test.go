package oapitest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// generator is the command that makes the client, as doc.go has it.
func generator(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, directive, found := strings.Cut(string(text), "//go:generate ")
	if !found {
		t.Fatal("doc.go says nothing of how the client is made")
	}
	line, _, _ := strings.Cut(directive, "\n")
	return strings.Fields(line)
}

// The client is the one that the document makes now.
func TestTheClientIsThatOfTheDocument(t *testing.T) {
	const kept = "client.gen.go"
	command, made := generator(t), filepath.Join(t.TempDir(), kept)
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	run := func(args []string) (string, error) { // leaves nothing behind but what go(1) builds
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "GOCACHE="+strings.TrimSpace(string(cache)), "GOFLAGS=")
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	module, version, _ := strings.Cut(command[2], "@")
	module, _, _ = strings.Cut(module, "/cmd/")
	if said, err := run([]string{"go", "mod", "download", module + "@" + version}); err != nil {
		t.Skipf("the generator cannot be had: %v: %s", err, said)
	}
	command[slices.Index(command, kept)] = made
	if said, err := run(command); err != nil {
		t.Fatalf("%q: %v: %s", command, err, said)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(kept); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what internal/server/openapi.json makes (%v): go generate ./internal/testing/oapitest", kept, err)
	}
}
