package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Who cannot mount because fuse3 is missing is told so, as by the doctor.
func TestMountWithoutTheHelper(t *testing.T) {
	needMounting(t)
	isolate(t)
	p := newPerson(t, "daemon")
	program, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close() //nolint:errcheck // opened for reading
	hide := `for f in fusermount3 fusermount; do for d in /bin /usr/bin; do [ ! -e $d/$f ] || mount --bind /dev/null $d/$f; done; done
		exec setpriv --reuid=$1 --regid=$2 --clear-groups /proc/self/fd/3 mount "$3"`
	cmd := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", hide, "sh",
		strconv.Itoa(int(p.id.Uid)), strconv.Itoa(int(p.id.Gid)), p.dir)
	cmd.ExtraFiles, cmd.Dir = []*os.File{program}, "/"
	cmd.Env = append(cmd.Environ(), "HOME="+p.home, asProgram+"=1")
	said, err := cmd.CombinedOutput()
	want := "archivefs: mount at " + p.dir + ": the program fusermount3 is missing; install fuse3: apt install fuse3, or dnf install fuse3\n"
	if cmd.ProcessState.ExitCode() != 1 || !strings.HasSuffix(string(said), want) {
		t.Errorf("%v, %q; want %q", err, said, want)
	}
}
