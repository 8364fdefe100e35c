package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

func TestDataDir(t *testing.T) {
	tests := []struct {
		name string
		has  []string // directories end in a slash
		ok   bool
	}{
		{"empty", nil, true},
		{"an archive", []string{"archive.db", "lock", "contents/", "api-key"}, true},
		{"an archive with something beside it", []string{"archive.db", "notes.txt"}, true},
		{"begun and cut off", []string{"lock", "contents/", "api-key", ".tmp-123"}, true},
		{"a fresh disk", []string{"lost+found/"}, true},
		{"a letter", []string{"letter.pdf"}, false},
		{"something hidden", []string{".git/"}, false},
		{"a letter beside our names", []string{"contents/", "letter.pdf"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range tt.has {
				path := filepath.Join(dir, name)
				err := os.MkdirAll(filepath.Dir(path), 0o700)
				if strings.HasSuffix(name, "/") {
					err = os.Mkdir(path, 0o700)
				} else if err == nil {
					err = os.WriteFile(path, nil, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			before := snapshot(t, dir)
			got, err := config.DataDir(dir)
			if tt.ok && (err != nil || got != dir) {
				t.Errorf("got %s, %v; want %s", got, err, dir)
			}
			if !tt.ok && (err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "--data")) {
				t.Errorf("got error %v, want one that names %s and --data", err, dir)
			}
			wantSame(t, before, snapshot(t, dir))
		})
	}
}

func TestDataDirIsNotMade(t *testing.T) {
	t.Chdir(t.TempDir())
	got, err := config.DataDir("office")
	if err != nil || !filepath.IsAbs(got) || filepath.Base(got) != "office" {
		t.Errorf("got %s, %v; want an absolute path", got, err)
	}
	if _, err := os.Lstat("office"); !os.IsNotExist(err) {
		t.Errorf("it was made: %v", err)
	}
}

func TestDefaultDataDir(t *testing.T) {
	t.Setenv("HOME", "/home/erika")
	tests := []struct{ env, want string }{
		{"/var/data", "/var/data/archivefs"},
		{"", "/home/erika/.local/share/archivefs"},
		{"data", "/home/erika/.local/share/archivefs"},
	}
	for _, tt := range tests {
		t.Setenv("XDG_DATA_HOME", tt.env)
		if got, err := config.DataDir(""); err != nil || got != tt.want {
			t.Errorf("with XDG_DATA_HOME=%q: got %s, %v; want %s", tt.env, got, err, tt.want)
		}
	}
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "")
	if got, err := config.DataDir(""); err != nil || !filepath.IsAbs(got) || !strings.HasSuffix(got, "/.local/share/archivefs") {
		t.Errorf("without a home in the environment: got %s, %v", got, err)
	}
}
