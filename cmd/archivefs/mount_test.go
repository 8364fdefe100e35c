package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A mount that the service refuses leaves nothing behind.
func TestMountWithAWrongKey(t *testing.T) {
	home := isolate(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer web.Close()
	mountpoint := t.TempDir()
	status, stdout, stderr := call(t, "mount", mountpoint, "--base-url", web.URL, "--api-key", "k-geheim")
	if status != 1 || stdout != "" || !strings.Contains(stderr, "check the API key") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit status %d, output %q, error %q; want 1 and a sentence about the key", status, stdout, stderr)
	}
	wantUntouched(t, home)
	wantUntouched(t, mountpoint)
}
