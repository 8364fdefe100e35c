package doctor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
)

func TestSELinux(t *testing.T) {
	mounts := []fusectl.Mounted{
		{Dir: "/", Kind: "xfs", Options: "rw,seclabel"},
		{Dir: "/mnt/labelled", Kind: doctor.Kind, Options: "rw,context=system_u:object_r:samba_share_t:s0,user_id=0"},
		{Dir: "/mnt/office", Kind: doctor.Kind, Options: "rw,user_id=0"},
	}
	tests := []struct {
		name, enforce, boolean, dir string
		warns                       bool
	}{
		{"it forbids", "1", "0 0\n", "/mnt/office", true},
		{"it forbids an inbox", "1", "0 0\n", "/mnt/office/inboxes/Scans", true},
		{"it permits", "1", "1 1\n", "/mnt/office", false},
		{"it enforces nothing", "0", "0 0\n", "/mnt/office", false},
		{"there is no such boolean", "1", "", "/mnt/office", false},
		{"there is no SELinux", "", "", "/mnt/office", false},
		{"the mount has a label", "1", "0 0\n", "/mnt/labelled/inboxes", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"enforce": tt.enforce, "booleans/samba_share_fusefs": tt.boolean} {
				if text == "" {
					continue
				}
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			findings := doctor.SELinux(dir, tt.dir, mounts)
			if len(findings) > 0 != tt.warns {
				t.Fatalf("got %+v", findings)
			}
			if tt.warns {
				want(t, findings[0], doctor.Warning, "SELinux keeps Samba from "+tt.dir, "~setsebool -P samba_share_fusefs on")
			}
		})
	}
}
