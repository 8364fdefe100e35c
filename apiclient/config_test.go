package apiclient

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBaseURLIsNormalised(t *testing.T) {
	for raw, want := range map[string]string{
		"https://archive.example":              "https://archive.example/api/v2",
		"https://archive.example/":             "https://archive.example/api/v2",
		"https://archive.example/api/v2":       "https://archive.example/api/v2",
		"https://archive.example/api/v2/":      "https://archive.example/api/v2",
		"HTTPS://Archive.Example:443/x//y/../": "https://archive.example/x/api/v2",
		"https://archive.example:8081":         "https://archive.example:8081/api/v2",
		"http://[::1]:8080/a":                  "http://[::1]:8080/a/api/v2",
		"http://localhost:80/xapi/v2":          "http://localhost/xapi/v2/api/v2",
		"https://archive.example/a%20b":        "https://archive.example/a%20b/api/v2",
		" https://archive.example\n":           "https://archive.example/api/v2",
	} {
		c, err := New(Config{BaseURL: raw, Credentials: Credentials{APIKey: "k"}})
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if got := c.BaseURL(); got != want {
			t.Errorf("%q becomes %q, want %q", raw, got, want)
		}
	}
}

func TestBaseURLIsRefused(t *testing.T) {
	for _, raw := range []string{
		"", "archive.example", "archive.example:8081", "ftp://archive.example", "https://", "https:///x",
		"https://anna:GEHEIM@archive.example", "https://archive.example?key=GEHEIM", "https://archive.example?",
		"https://archive.example#GEHEIM", "https://archive.example#", "https://anna:GEHEIM@archive .example",
		"https://archive.example:GEHEIM", "https://archive.example:99999", "https://archive.example:0",
	} {
		_, err := New(Config{BaseURL: raw, Credentials: Credentials{APIKey: "k"}})
		if err == nil {
			t.Errorf("%q is taken", raw)
		} else if !strings.HasPrefix(err.Error(), "base URL: ") || strings.Contains(err.Error(), "GEHEIM") {
			t.Errorf("%q: error is %q", raw, err)
		}
	}
}

func TestBaseURLWithoutAScheme(t *testing.T) {
	for _, raw := range []string{"archive.example", "archive.example:8081", "127.0.0.1:8081", "localhost/archive"} {
		_, err := New(Config{BaseURL: raw, Credentials: Credentials{APIKey: "k"}})
		var wrong *SettingError
		if !errors.As(err, &wrong) || wrong.Setting != SettingBaseURL || !strings.Contains(err.Error(), "add http:// or https://") {
			t.Errorf("%q: error is %v", raw, err)
		}
	}
}

func TestPlainHTTPWarnsOffLoopback(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://archive.example": true, "https://archive.example": false,
		"http://127.0.0.1:80": false, "http://localhost": false, "http://[::1]": false, "http://10.0.0.1": true,
	} {
		log, out := newLog()
		if _, err := New(Config{BaseURL: raw, Credentials: Credentials{APIKey: "k"}, Log: log}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "not encrypted"); got != want {
			t.Errorf("%s: warned %t, want %t", raw, got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	good := Config{BaseURL: "https://localhost", Credentials: Credentials{APIKey: testKey}}
	noPEM := filepath.Join(t.TempDir(), "no.pem")
	if err := os.WriteFile(noPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"API key: an API key":          func(cfg *Config) { cfg.Credentials.APIKey = "" },
		"connections: -1":              func(cfg *Config) { cfg.Connections = -1 },
		"stall: -1s":                   func(cfg *Config) { cfg.Stall = -time.Second },
		"CA file: open":                func(cfg *Config) { cfg.CAFile = noPEM + ".missing" },
		"holds no PEM certificate":     func(cfg *Config) { cfg.CAFile = noPEM },
		"belong together":              func(cfg *Config) { cfg.CertFile = noPEM },
		"client certificate: tls: fai": func(cfg *Config) { cfg.CertFile, cfg.KeyFile = noPEM, noPEM },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}
