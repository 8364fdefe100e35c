package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
			err := mayLetOthersIn(tt.uid, conf)
			if tt.ok && err != nil {
				t.Error(err)
			}
			if !tt.ok && (err == nil || !strings.Contains(err.Error(), "user_allow_other in "+conf)) {
				t.Errorf("got error %v, want one that names user_allow_other and %s", err, conf)
			}
		})
	}
	if err := mayLetOthersIn(1000, filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("it is allowed without a configuration")
	}
	if err := mayLetOthersIn(1000, t.TempDir()); err != nil {
		t.Errorf("a configuration that cannot be read: %v", err)
	}
}
