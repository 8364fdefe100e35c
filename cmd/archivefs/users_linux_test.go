package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// person is a user without privileges, at home in a directory of the test.
type person struct {
	t    *testing.T
	id   syscall.Credential
	home string
	dir  string // an empty directory to mount at
}

// newPerson makes a user of the machine at home in the test.
func newPerson(t *testing.T, name string) *person {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, home: t.TempDir()}
	number := func(id string) uint32 {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(n)
	}
	p.id.Uid, p.id.Gid = number(u.Uid), number(u.Gid)
	for dir := filepath.Dir(p.home); ; dir = filepath.Dir(dir) {
		letThrough(t, dir)
		if dir == "/" {
			break
		}
	}
	p.dir = filepath.Join(p.home, "Archive")
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{p.home, p.dir} {
		if err := os.Chown(dir, int(p.id.Uid), int(p.id.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(p.home, 0o700); err != nil {
		t.Fatal(err)
	}
	unmountAtEnd(t, p.dir)
	return p
}

// letThrough lets everybody reach what is in a directory, until the test ends.
func letThrough(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o011 == 0o011 {
		return
	}
	if err := os.Chmod(dir, info.Mode()|0o011); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, info.Mode()) })
}

// as lets a command be the user's.
func (p *person) as(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &p.id}
	cmd.Dir = "/"
	cmd.Env = append(cmd.Environ(), "HOME="+p.home)
}

// start starts the program as the user, who need not be allowed to find it.
func (p *person) start(args ...string) *program {
	p.t.Helper()
	return startWith(p.t, func(cmd *exec.Cmd) {
		cmd.Path = "/proc/self/exe"
		p.as(cmd)
	}, args...)
}

// sh runs a script as the user, with the mount as $1, and returns what it prints.
func (p *person) sh(script string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), "sh", "-c", script, "sh", p.dir)
	p.as(cmd)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// wantSh fails the test unless a script of the user prints that.
func (p *person) wantSh(script, want string) {
	p.t.Helper()
	if got, err := p.sh(script); err != nil || got != want {
		p.t.Errorf("%s: got %q, %v; want %q", script, got, err, want)
	}
}

// Two users have a mount each at the same time, without privileges, and do not see each
// other's.
func TestTwoUsers(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be other users")
	}
	isolate(t)
	a, b := newPerson(t, "daemon"), newPerson(t, "bin")
	foreground := a.start("mount", a.dir)
	foreground.line("mounted ")
	background := b.start("mount", "--daemon", "--log-file", filepath.Join(b.home, "log"), b.dir)
	background.line("mounted ")
	background.wantExit(0)
	for _, p := range []*person{a, b} {
		p.wantSh(`cd "$1/My Archive" && mkdir Letters && id -un >Letters/me.txt && cat Letters/me.txt`, map[*person]string{a: "daemon", b: "bin"}[p])
		p.wantSh(`stat -c %u:%a "$1"; stat -f -c %T "$1"`, strconv.Itoa(int(p.id.Uid))+":700\nfuseblk")
		if _, err := os.ReadDir(p.dir); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("root lists the mount of user %d: %v", p.id.Uid, err)
		}
	}
	if said, err := b.sh(`ls '` + a.dir + `'`); err == nil || !strings.Contains(said, "Permission denied") {
		t.Errorf("one user lists the mount of the other: %q, %v", said, err)
	}
	wrong := b.start("unmount", a.dir)
	wrong.wantExit(1)
	a.wantSh(`cat "$1/My Archive/Letters/me.txt"`, "daemon")
	for _, p := range []*person{a, b} {
		p.start("unmount", p.dir).wantExit(0)
		p.wantSh(`ls "$1"`, "")
	}
	foreground.wantExit(0)
}

// The next mount of a user in the background takes the place of one that was killed, and an unmount by force
// ends it.
func TestMountOfAUserInThePlaceOfOneThatWasKilled(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be other users")
	}
	isolate(t)
	p := newPerson(t, "daemon")
	m := p.start("mount", "--daemon", p.dir)
	m.line("mounted ")
	m.wantExit(0)
	p.wantSh(`echo Tag >"$1/My Archive/letter.txt" && sed -n 's/.*"pid": *//p' "$1/.archivefs/status.json" | tr -d , | xargs kill -9`, "")
	again := p.start("mount", "--daemon", p.dir)
	again.line("mounted ")
	again.wantExit(0)
	p.wantSh(`cat "$1/My Archive/letter.txt"`, "Tag")
	pid, err := p.sh(`sed -n 's/.*"pid": *//p' "$1/.archivefs/status.json" | tr -d ,`)
	if err != nil {
		t.Fatal(pid, err)
	}
	process, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p.start("unmount", "--force", p.dir).wantExit(0)
	heals(t, "it ends", func() bool { return !isRunning(process) })
	p.wantSh(`ls "$1"`, "")
}

// A user mounts what a line of fstab allows: mount(8) calls the helper as that user.
func TestUserMountsByHelper(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be other users")
	}
	isolate(t)
	p := newPerson(t, "daemon")
	helper := startWith(t, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args[0] = "/proc/self/exe", "/sbin/mount.archivefs"
		p.as(cmd)
	}, "embedded", p.dir, "-o", "rw,noexec,nosuid,nodev,user,data="+filepath.Join(p.home, "data"))
	helper.wantExit(0)
	p.wantSh(`cp /bin/true "$1/My Archive/true" && ls "$1/My Archive" && "$1/My Archive/true" 2>&1 | sed 's/.*: //'`, "true\nPermission denied")
	p.start("unmount", p.dir).wantExit(0)
}

// A user whose mount hangs ends it by force, and is told how that was done.
func TestUserUnmountsByForce(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be other users")
	}
	isolate(t)
	p := newPerson(t, "daemon")
	m := p.start("mount", "--drain", "1s", p.dir)
	m.line("mounted ")
	abortAtEnd(t, p.dir, m)
	other := newPerson(t, "bin").start("unmount", "--force", p.dir)
	other.wantExit(1)
	other.says("archivefs: " + p.dir + " is still mounted: it cannot be aborted (")
	p.wantSh(`cd "$1/My Archive" && echo here`, "here")
	holds := exec.CommandContext(t.Context(), "sh", "-c", `cd "$1/My Archive" && exec >half.txt && echo half && echo ready >&2 && read -r _`, "sh", p.dir)
	p.as(holds)
	ready, err := holds.StderrPipe()
	if err == nil {
		_, err = holds.StdinPipe()
	}
	if err == nil {
		err = holds.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ready.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	byForce := p.start("unmount", "--force", p.dir)
	byForce.wantExit(0)
	_ = m.wait()
	killed := m.cmd.ProcessState.ExitCode() == -1
	if explained := strings.Contains(byForce.said(), "was ended, because you may not abort a mount in another way"); explained != killed {
		t.Errorf("the process was killed: %v; said %q", killed, byForce.said())
	}
	p.wantSh(`ls "$1"`, "")
	_ = holds.Process.Kill()
	_ = holds.Wait()
	again := p.start("mount", p.dir)
	again.line("mounted ")
	p.wantSh(`ls "$1/My Archive"`, "")
	p.start("unmount", p.dir).wantExit(0)
	again.wantExit(0)
}

// Whoever saves a search reads nothing of mounts that are not theirs, even if they may look into them.
func TestSearchOfAUserBesideAnotherMount(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be other users")
	}
	isolate(t)
	dir := t.TempDir()
	m := startMount(t, dir, "--allow-other", "--sample")
	m.line("mounted ")
	p := newPerson(t, "daemon")
	save := p.start("search", "save", "Bills", "Rechnung")
	save.wantExit(0)
	if said := save.said(); said != "" {
		t.Errorf("save says %q", said)
	}
	m.stop()
}
