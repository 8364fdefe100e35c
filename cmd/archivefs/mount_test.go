package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refusing is the address of a service that knows nobody's key.
func refusing(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// A mount that the service refuses leaves nothing behind.
func TestMountWithAWrongKey(t *testing.T) {
	home := isolate(t)
	mountpoint := t.TempDir()
	status, stdout, stderr := call(t, "mount", mountpoint, "--base-url", refusing(t), "--api-key", "k-geheim")
	if status != 1 || stdout != "" || !strings.Contains(stderr, "check the API key") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit status %d, output %q, error %q; want 1 and a sentence about the key", status, stdout, stderr)
	}
	wantUntouched(t, home)
	wantUntouched(t, mountpoint)
}

func TestMountpointThatIsNotEmpty(t *testing.T) {
	tests := []struct {
		name     string
		entries  []string
		nonempty bool
		ok       bool
	}{
		{"empty", nil, false, true},
		{"a file", []string{"letter.pdf"}, false, false},
		{"a hidden file", []string{".letter"}, false, false},
		{"a file, hidden on purpose", []string{"letter.pdf"}, true, true},
		{"what desktops leave", []string{".DS_Store", ".localized", ".directory"}, false, true},
		{"what desktops leave, and a file", []string{".DS_Store", "letter.pdf"}, false, false},
		{"the name of the control directory", []string{".archivefs"}, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range tt.entries {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := checkMountpoint(t.Context(), dir, tt.nonempty)
			if tt.ok && err != nil {
				t.Error(err)
			}
			if !tt.ok && (err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "-o nonempty")) {
				t.Errorf("got error %v, want one that names %s and -o nonempty", err, dir)
			}
		})
	}
}

// The option reaches the check by all its names; then it is the service that refuses.
func TestMountNonempty(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mount := []string{"mount", dir, "--base-url", refusing(t), "--api-key", "k-geheim"}
	if status, _, stderr := call(t, mount...); status != 1 || !strings.Contains(stderr, "-o nonempty") {
		t.Errorf("exit status %d, error %q; want 1 and a sentence about -o nonempty", status, stderr)
	}
	for _, option := range []string{"-ononempty", "--nonempty"} {
		if status, _, stderr := call(t, append(mount, option)...); status != 1 || !strings.Contains(stderr, "check the API key") {
			t.Errorf("%s: exit status %d, error %q; want 1 and a sentence about the key", option, status, stderr)
		}
	}
}
