package mounted

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
			err := CheckMountpoint(dir, tt.nonempty)
			if tt.ok && err != nil {
				t.Error(err)
			}
			if !tt.ok && (err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "-o nonempty")) {
				t.Errorf("got error %v, want one that names %s and -o nonempty", err, dir)
			}
		})
	}
}

func TestMayLetOthersIn(t *testing.T) {
	tests := []struct {
		name, conf string
		uid        int
		ok         bool
	}{
		{"allowed", "# FUSE\nuser_allow_other\n", 1000, true},
		{"allowed in the last line", "mount_max = 5\n  user_allow_other", 1000, true},
		{"in a comment", "#user_allow_other\n", 1000, false},
		{"after a blank", "# user_allow_other\n", 1000, false},
		{"empty", "", 1000, false},
		{"root", "", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conf := filepath.Join(t.TempDir(), "fuse.conf")
			if err := os.WriteFile(conf, []byte(tt.conf), 0o600); err != nil {
				t.Fatal(err)
			}
			err := MayLetOthersIn(tt.uid, conf)
			if tt.ok && err != nil {
				t.Error(err)
			}
			if !tt.ok && (err == nil || !strings.Contains(err.Error(), "user_allow_other in "+conf)) {
				t.Errorf("got error %v, want one that names user_allow_other and %s", err, conf)
			}
		})
	}
	if err := MayLetOthersIn(1000, filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("it is allowed without a configuration")
	}
	if err := MayLetOthersIn(1000, t.TempDir()); err != nil {
		t.Errorf("a configuration that cannot be read: %v", err)
	}
}
