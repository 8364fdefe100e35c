package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/doctor"
)

// put writes a file below dir, with the directories above it, and returns its path.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAppArmor(t *testing.T) {
	dir := t.TempDir()
	a := doctor.AppArmor{Enabled: filepath.Join(dir, "enabled"), Profiles: filepath.Join(dir, "apparmor.d")}
	none := func(when, mountpoint string) {
		t.Helper()
		if do := a.Cure(mountpoint); do != "" {
			t.Errorf("%s: %s", when, do)
		}
	}
	put(t, a.Profiles, "fusermount3", "profile fusermount3 {}\n")
	none("a kernel without AppArmor", "/srv/archive")
	put(t, dir, "enabled", "N\n")
	none("AppArmor is off", "/srv/archive")
	put(t, dir, "enabled", "Y\n")
	for _, allowed := range []string{"/home/anna/Archive", "/root/Archive", "/mnt/archive", "/media/archive", "/tmp/a", "/run/user/1000/archive"} {
		none("the profile allows it", allowed)
	}
	const rules = `'mount fstype=fuse.archivefs options=(nosuid,nodev) options in (ro,rw,noexec) -> "/srv/the \[a\]/",' 'umount "/srv/the \[a\]/",'`
	do := a.Cure("/srv/the [a]")
	if !strings.Contains(do, rules) || !strings.Contains(do, ">>"+a.Profiles+"/local/fusermount3 && apparmor_parser -r "+a.Profiles+"/fusermount3") {
		t.Errorf("it says %q", do)
	}
	put(t, a.Profiles, "local/fusermount3", `mount fstype=fuse.archivefs options=(nosuid,nodev) -> "/srv/the \[a\]/",`)
	none("a rule of the machine allows it", "/srv/the [a]")
	if a.Cure("/srv/the") == "" {
		t.Error("the rule allows another mount point only")
	}
	put(t, a.Profiles, "disable/fusermount3", "")
	none("the profile is disabled", "/srv/the")
}

func TestIndex(t *testing.T) {
	dir := t.TempDir()
	conf := put(t, dir, "updatedb.conf", "PRUNE_BIND_MOUNTS=\"yes\"\nPRUNEFS=\"NFS fuse.sshfs\"\n")
	want(t, doctor.Index(conf, true), doctor.Warning, "updatedb lists every document of a mount each day, without downloading any",
		"add fuse.archivefs to PRUNEFS in "+conf)
	want(t, doctor.Index(conf, false), doctor.OK, "updatedb cannot look into your mounts", "")
	put(t, dir, "updatedb.conf", "PRUNEFS = \"NFS fuse.archivefs\"\n")
	want(t, doctor.Index(conf, true), doctor.OK, "updatedb leaves archives out", "")
	want(t, doctor.Index(filepath.Join(dir, "none"), true), doctor.OK, "there is no updatedb", "")
}
