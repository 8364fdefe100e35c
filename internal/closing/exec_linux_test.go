package closing

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// closeWatch is a file in a mount of its own that looks at who closes it, without a limit.
type closeWatch struct {
	fusefs.Inode
	opener atomic.Int64 // of the newest descriptor
	seen   chan Meaning // what each close was found to be
}

// slowProgram is a file that cannot be executed, which execve(2) finds out after opened and open.
type slowProgram struct {
	fusefs.Inode
	opened, open chan struct{}
}

func (p *slowProgram) Open(context.Context, uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	p.opened <- struct{}{}
	<-p.open
	return nil, 0, syscall.EACCES
}

func (p *slowProgram) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = 0o755
	return 0
}

// closeWatchIno is the inode number of the file.
const closeWatchIno = 4711

// stuck is how long a look may take before it counts as one that never ends.
const stuck = time.Minute

// callerPID is the thread that made a request.
func callerPID(ctx context.Context) uint32 {
	caller, _ := fuse.FromContext(ctx)
	return caller.Pid
}

func (w *closeWatch) Open(ctx context.Context, _ uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	w.opener.Store(int64(ThreadGroup(callerPID(ctx))))
	return w, fuse.FOPEN_DIRECT_IO, 0
}

func (w *closeWatch) Flush(ctx context.Context) syscall.Errno {
	done := make(chan Meaning, 1)
	go func() { done <- look(callerPID(ctx), int(w.opener.Load()), closeWatchIno, &Mounts{}) }()
	select {
	case c := <-done:
		w.seen <- c
	case <-time.After(stuck):
		w.seen <- ^Meaning(0)
	}
	return 0
}

// watchCloses mounts a closeWatch and, as "program" beside it, a slowProgram until the test ends. It
// returns the path of the closeWatch.
func watchCloses(t *testing.T) (*closeWatch, *slowProgram, string) {
	t.Helper()
	fusetest.Need(t)
	w := &closeWatch{seen: make(chan Meaning, 16)}
	p := &slowProgram{opened: make(chan struct{}), open: make(chan struct{})}
	root := &fusefs.Inode{}
	dir := filepath.Join(t.TempDir(), "mnt")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	server, err := fusefs.Mount(dir, root, &fusefs.Options{
		MountOptions: fuse.MountOptions{DirectMount: true},
		OnAdd: func(ctx context.Context) {
			file := root.NewPersistentInode(ctx, w, fusefs.StableAttr{Mode: fuse.S_IFREG, Ino: closeWatchIno})
			root.AddChild("file", file, false)
			program := root.NewPersistentInode(ctx, p, fusefs.StableAttr{Mode: fuse.S_IFREG})
			root.AddChild("program", program, false)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return w, p, filepath.Join(dir, "file")
}

// What a close means that is not simply the opener's last. A descriptor that is closed on exec is
// closed while /proc keeps whoever looks waiting: the look must not wait for what can only end after it.
func TestCloseAmongProcesses(t *testing.T) {
	const (
		open = "import os, sys, subprocess\nfd = os.open(sys.argv[1], os.O_RDONLY)\n"
		fork = "r, w = os.pipe()\nchild = os.fork()\nif child == 0: "
	)
	tests := map[string]struct {
		script string
		want   []Meaning
	}{
		"the opener becomes another program": {
			`os.execvp("true", ["true"])`,
			[]Meaning{Unknown},
		},
		"of two descriptors one stays open": {
			`os.dup2(fd, 200, inheritable=True); os.execvp("true", ["true"])`,
			[]Meaning{Unknown, Last},
		},
		"the opener starts another program": {
			`subprocess.run(["true"], close_fds=False); os.close(fd)`,
			[]Meaning{More, Last},
		},
		"a child closes before the opener": {
			fork + `os._exit(0)
os.waitpid(child, 0); os.close(fd)`,
			[]Meaning{More, Last},
		},
		"a child closes after the opener": {
			fork + `os.read(r, 1); os._exit(0)
os.close(fd); os.write(w, b"x"); os.waitpid(child, 0)`,
			[]Meaning{Inherited, Unknown},
		},
		"a grandchild closes last": {
			`r2, w2 = os.pipe()
` + fork + `
  if os.fork() == 0: os.read(r2, 1); os._exit(0)
  os.read(r, 1); os._exit(0)
os.close(fd); os.write(w, b"x"); os.waitpid(child, 0); os.write(w2, b"x")`,
			[]Meaning{Inherited, More, Unknown},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, _, path := watchCloses(t)
			cmd := exec.CommandContext(t.Context(), "python3", "-c", open+tt.script, path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for i, want := range tt.want {
				if got := <-w.seen; got != want {
					t.Errorf("close %d is %d, want %d", i+1, got, want)
				}
			}
		})
	}
}

// A program with many threads closes a file while one of them starts another program. The child has
// all descriptors until execve closes those that the new program does not get.
func TestCloseWhileAProgramIsStarted(t *testing.T) {
	const script = `import ctypes, os, sys, threading
libc, pid = ctypes.CDLL(None), ctypes.c_int()
fd = os.open(sys.argv[1], os.O_RDONLY)
os.set_inheritable(fd, sys.argv[3] == "passed on")
program = sys.argv[2].encode()
args, environment = (ctypes.c_char_p * 2)(program, None), (ctypes.c_char_p * 1)(None)
start = threading.Thread(target=lambda: libc.posix_spawn(ctypes.byref(pid), program, None, None, args, environment))
start.start()
sys.stdin.read(1)
os.close(fd)
start.join()`
	for how, want := range map[string]Meaning{"closed on exec": Last, "passed on": Inherited} {
		t.Run(how, func(t *testing.T) {
			w, program, path := watchCloses(t)
			cmd := exec.CommandContext(t.Context(), "python3", "-c", script, path, filepath.Join(filepath.Dir(path), "program"), how)
			cmd.Stderr = os.Stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-program.opened
			if err := in.Close(); err != nil {
				t.Error(err)
			}
			got := <-w.seen
			program.open <- struct{}{}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if got != want {
				t.Errorf("the close is %d, want %d", got, want)
			}
		})
	}
}

// Another file may have the same inode number; only a mapping of the file itself counts.
func TestMappedTellsFileSystemsApart(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // its bytes do not matter
	if err := f.Truncate(1); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m) //nolint:errcheck // the process ends
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	for dev, want := range map[string]bool{"": true, own: true, "0:0": false} {
		if got := mapped(os.Getpid(), st.Ino, &Mounts{dev: dev}); got != want {
			t.Errorf("on the device %q: mapped is %v, want %v", dev, got, want)
		}
	}
}
