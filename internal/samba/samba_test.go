package samba

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// canonical has testparm read a configuration, where there is one.
func canonical(t *testing.T, conf string) string {
	t.Helper()
	if _, err := exec.LookPath("testparm"); err != nil {
		return conf // it is in the same form, in another order
	}
	file := filepath.Join(t.TempDir(), "smb.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "testparm", "-s", file)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || strings.Contains(said.String(), "Unknown parameter") || strings.Contains(said.String(), "Invalid") {
		t.Fatalf("%v: %s", err, said.String())
	}
	return string(out)
}

func TestOurOwnSectionLacksNothing(t *testing.T) {
	s := Share{Name: "office", Path: "/mnt/office", User: "root", Allowed: "anna @office", Streams: "/var/lib/x.tdb"}
	for _, conf := range []string{s.Section(), canonical(t, "[global]\n"+s.Section())} {
		found := Shares(conf, []string{"/mnt/other", "/mnt/office"})
		if len(found) != 1 || found[0].Name != "office" || found[0].Path != "/mnt/office" || len(found[0].Lacks) != 0 {
			t.Errorf("%+v, from\n%s", found, conf)
		}
	}
}

func TestWhatSharesLack(t *testing.T) {
	const conf = `
[global]
	oplocks = No

[whole]
	path = /mnt/office
	vfs objects = streams_xattr

[inbox]
	path = /mnt/office/inboxes/Scans/
	oplocks = No
	level2 oplocks = No
	posix locking = No
	ea support = No
	store dos attributes = No
	map archive = No
	nt acl support = No
	csc policy = disable
	vfs objects = recycle streams_xattr fruit xattr_tdb catia fileid

[homes]
	path = /mnt/office2

[none]
`
	found := Shares(conf, []string{"/mnt/office"})
	slices.SortFunc(found, func(a, b Found) int { return strings.Compare(a.Name, b.Name) })
	if len(found) != 2 || found[0].Name != "inbox" || found[1].Name != "whole" {
		t.Fatalf("%+v", found)
	}
	if len(found[0].Lacks) != 0 {
		t.Errorf("inbox lacks %q", found[0].Lacks)
	}
	for _, want := range []string{"oplocks = no", "vfs objects = catia fruit streams_xattr xattr_tdb fileid"} {
		if !slices.Contains(found[1].Lacks, want) {
			t.Errorf("whole lacks %q, not %q", found[1].Lacks, want)
		}
	}
}
