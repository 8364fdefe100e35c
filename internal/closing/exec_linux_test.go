package closing

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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

// closeWatchIno is the inode number of the file.
const closeWatchIno = 4711

// stuck is how long a look may take before it counts as one that never ends.
const stuck = 20 * time.Second

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

// watchCloses mounts a closeWatch until the test ends and returns its path.
func watchCloses(t *testing.T) (*closeWatch, string) {
	t.Helper()
	fusetest.Need(t)
	w := &closeWatch{seen: make(chan Meaning, 16)}
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
	return w, filepath.Join(dir, "file")
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
			w, path := watchCloses(t)
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
