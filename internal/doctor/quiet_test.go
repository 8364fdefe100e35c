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

func TestNFS(t *testing.T) {
	const text, do = "/mnt/office is exported by NFS, and after a restart of the mount a client may read another document than the one it opened", "~; let clients mount a share of Samba"
	dirs := []string{"/mnt/office", "/mnt/the archive"}
	for _, tt := range []struct {
		file, conf string
		n          int
	}{
		{"exports", "# /mnt/office *(ro)\n/srv *(rw)\n/mnt/office2 *(rw)\n/mnt *(rw)\n\n", 0},
		{"exports", "/srv *(rw)\n/mnt/office/\t192.0.2.0/24(rw,fsid=1)\n", 1},
		{"exports.d/archive.exports", "/mnt/office/inboxes *(rw)\n\"/mnt/the archive\" *(rw)\n", 2},
		{"exports.d/archive.exports", "/mnt/office *(rw)\n/mnt/the\\040archive *(rw)\n", 2},
		{"exports.d/archive.conf", "/mnt/office *(rw)\n", 0}, // exportfs does not read it
		{"ganesha/ganesha.conf", "EXPORT {\n  Export_Id = 1;\n  # Path = /mnt/office;\n  Pseudo = /mnt/office;\n  FSAL { Name = VFS; }\n}\n", 0},
		{"ganesha/ganesha.conf", "EXPORT {\n  path = \"/mnt/office\";\n}\n", 1},
		{"ganesha/ganesha.conf", "EXPORT { Export_Id = 1; Path = /mnt/office; Pseudo = /a; }\n", 1},
	} {
		dir := t.TempDir()
		put(t, dir, tt.file, tt.conf)
		found := doctor.NFS(dir, dirs)
		if len(found) != tt.n {
			t.Errorf("%s: %+v, from\n%s", tt.file, found, tt.conf)
			continue
		}
		if tt.n > 0 {
			want(t, found[0], doctor.Warning, text, do)
		}
	}
	if found := doctor.NFS(t.TempDir(), dirs); found != nil {
		t.Errorf("without NFS: %+v", found)
	}
}
