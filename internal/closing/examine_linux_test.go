package closing

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// nobody is a number that no process has (PID_MAX_LIMIT is 2^22).
const nobody = 1 << 30

func TestInfoField(t *testing.T) {
	const info = "pos:\t0\nflags:\t0100002\nmnt_id:\t29\nino:\t1234\ninotify wd:1 ino:99 sdev:800001\nlock:\t1: ino:5"
	tests := []struct{ info, name, want string }{
		{info, "ino:", "1234"},
		{info, "mnt_id:", "29"},
		{info, "pos:", "0"},
		{info, "tfd:", ""},
		{"", "ino:", ""},
		{"ino:", "ino:", ""},
		{"ino:\t7", "ino:", "7"},
		{"xino:\t7\n", "ino:", ""},
	}
	for _, tt := range tests {
		if got := infoField([]byte(tt.info), tt.name); got != tt.want {
			t.Errorf("%s of %q is %q, want %q", tt.name, tt.info, got, tt.want)
		}
	}
}

func TestThreadGroup(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tests := []struct {
		name string
		pid  uint32
		want int
	}{
		{"the process", uint32(os.Getpid()), os.Getpid()},
		{"a thread of it", uint32(unix.Gettid()), os.Getpid()},
		{"another pid namespace", 0, 0},
		{"nobody", nobody, 0},
		{"out of range", math.MaxUint32, 0},
	}
	for _, tt := range tests {
		if got := ThreadGroup(tt.pid); got != tt.want {
			t.Errorf("%s: the thread group of %d is %d, want %d", tt.name, tt.pid, got, tt.want)
		}
	}
}

func TestTaskFlagsOfTheLiving(t *testing.T) {
	if flags := taskFlags(uint32(os.Getpid()), nil); flags == 0 || flags&(pfExiting|pfSignaled) != 0 {
		t.Errorf("this process has the flags %#x", flags)
	}
	if flags := taskFlags(nobody, nil); flags != 0 {
		t.Errorf("nobody has the flags %#x", flags)
	}
}

// end runs a program that waits, ends it, and returns its process before it is reaped.
func end(t *testing.T, how func(*exec.Cmd) error) *os.Process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it was killed, or not
	})
	if how == nil {
		err = in.Close()
	} else {
		err = how(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	return cmd.Process
}

func TestCloseByTheKilled(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		p := end(t, func(cmd *exec.Cmd) error { return cmd.Process.Signal(sig) })
		if flags := taskFlags(uint32(p.Pid), nil); flags&pfExiting == 0 || flags&pfSignaled == 0 {
			t.Errorf("a process ended by %v has the flags %#x", sig, flags)
		}
		tests := []struct {
			name   string
			opener int
			want   Meaning
		}{
			{"the opener", p.Pid, Killed},
			{"whom nobody knows", 0, Killed},
			{"another process than the opener", os.Getpid(), More},
		}
		for _, tt := range tests {
			if got := look(uint32(p.Pid), tt.opener, 1, &Mounts{}); got != tt.want {
				t.Errorf("ended by %v: a close by %s is %d, want %d", sig, tt.name, got, tt.want)
			}
		}
	}
}

func TestCloseByOneThatExited(t *testing.T) {
	p := end(t, nil)
	if flags := taskFlags(uint32(p.Pid), nil); flags&pfSignaled != 0 {
		t.Errorf("a process that exited has the flags %#x", flags)
	}
	if got := look(uint32(p.Pid), p.Pid, 1, &Mounts{}); got != Last {
		t.Errorf("the close of a process that exited is %d, want the last", got)
	}
}

func TestCloseByTheLiving(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	own := os.Getpid()
	look := func(pid uint32, opener int) Meaning { return look(pid, opener, st.Ino, &Mounts{}) }

	if got := look(uint32(own), own); got != More {
		t.Errorf("with a descriptor open: got %d, want more", got)
	}
	if got := look(uint32(own), os.Getppid()); got != More {
		t.Errorf("by another process than the opener: got %d, want more", got)
	}
	if got := look(uint32(own), 0); got != Unknown {
		t.Errorf("with an opener of another pid namespace: got %d, want unknown", got)
	}
	if got := look(0, own); got != Unseen {
		t.Errorf("by a process of another pid namespace: got %d, want unseen", got)
	}
	if got := look(nobody, own); got != Unseen {
		t.Errorf("by a process that is gone: got %d, want unseen", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := look(uint32(own), own); got != Last {
		t.Errorf("with no descriptor open: got %d, want the last", got)
	}
}

// mountOf is the mount id of an open file.
func mountOf(t *testing.T, f *os.File) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	return infoField(b, "mnt_id:")
}

func TestMountIDs(t *testing.T) {
	open := func(path string) *os.File {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() }) // read only
		return f
	}
	ours, other := mountOf(t, open("/proc/self/stat")), mountOf(t, open(t.TempDir()))
	var m Mounts
	if !m.ours(os.Getpid(), other) {
		t.Error("before anything is known a descriptor is taken for another's")
	}
	m.Learn("/proc")
	if !m.ours(os.Getpid(), ours) {
		t.Errorf("the mount %s of /proc is not known", ours)
	}
	if m.ours(os.Getpid(), other) {
		t.Errorf("the mount %s is taken for that of /proc", other)
	}
	if m.ours(nobody, other) {
		t.Error("a mount of a process that is gone is taken for ours")
	}
	var none Mounts
	none.Learn("/there/is/no/mount")
	if none.dev != "" {
		t.Errorf("a mount point without a mount has the device %s", none.dev)
	}
}

// A program is doomed once a signal has killed it, also while it cannot end yet.
func TestDoomed(t *testing.T) {
	if Doomed(uint32(os.Getpid())) || Doomed(0) || Doomed(1) {
		t.Error("the living are doomed")
	}
	if !Doomed(nobody) {
		t.Error("nobody is not doomed")
	}
	if p := end(t, func(cmd *exec.Cmd) error { return cmd.Process.Kill() }); !Doomed(uint32(p.Pid)) {
		t.Error("a process that was killed is not doomed")
	}
}

func TestSignals(t *testing.T) {
	const status = "SigQ:\t1/2\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000002\n"
	if set := signals([]byte(status), "SigPnd:"); set != deadly {
		t.Errorf("got %#x, want that of SIGKILL", set)
	}
	if set := signals([]byte(status), "SigBlk:"); set != 0 {
		t.Errorf("got %#x of a set that is not there", set)
	}
}

// An rsync that was stopped ignores the signal by which its processes end each other.
func TestRsyncOf(t *testing.T) {
	for _, test := range []struct {
		status         string
		rsync, stopped bool
	}{
		{"Name:\trsync\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000014a03\n", true, false},
		{"Name:\trsync\nSigIgn:\t0000000000001a00\nSigCgt:\t0000000000014003\n", true, true},
		{"Name:\tcp\nSigIgn:\t0000000000001a00\n", false, true},
		{"", false, false},
	} {
		if rsync, stopped := rsyncOf([]byte(test.status)); rsync != test.rsync || stopped != test.stopped {
			t.Errorf("%q: rsync %v, stopped %v", test.status, rsync, stopped)
		}
	}
}

func TestHiddenProcesses(t *testing.T) {
	for options, want := range map[string]bool{
		"rw": false, "rw,hidepid=0": false, "rw,hidepid=off": false, "rw,hidepid=2": true, "rw,gid=4,hidepid=invisible": true, "rw,hidepid=ptraceable": true,
	} {
		if got := hides([]fusectl.Mounted{{Dir: "/", Options: "hidepid=2"}, {Dir: "/proc", Options: options}}); got != want {
			t.Errorf("%s hides: %v", options, got)
		}
	}
}

// What cannot be looked at is told from what is known to hold nothing any more.
func TestCloseByAProcessThatIsNotSeen(t *testing.T) {
	own := uint32(os.Getpid())
	if got := look(own, int(own), 1, &Mounts{proc: true}); got != Unseen {
		t.Errorf("with the /proc of another PID namespace: %d", got)
	}
	if otherProc() {
		t.Error("the /proc of the test is that of another PID namespace")
	}
}
