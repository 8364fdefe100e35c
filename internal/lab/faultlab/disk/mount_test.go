package disk

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// userEnv names the directory in which the test binary, run once more, uses the disk: a
// process must not use a disk that it serves.
const userEnv = "FORGETFUL_DISK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(userEnv); dir != "" {
		if err := use(dir); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// use does on the disk what archivefs does: a lock, a database that is read through a
// mapping, and a file that is replaced by rename. The second time it must find them.
func use(dir string) error {
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	db, err := bbolt.Open(filepath.Join(dir, "db"), 0o600, nil)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("b"))
		if err != nil {
			return err
		}
		record, _ := os.ReadFile(filepath.Join(dir, "record"))
		if string(b.Get([]byte("k"))) != string(record) {
			return errors.New("the database and the file differ")
		}
		return b.Put([]byte("k"), append(record, 'x'))
	})
	if err != nil {
		return err
	}
	record, _ := os.ReadFile(filepath.Join(dir, "record"))
	tmp := filepath.Join(dir, "tmp")
	if err := os.WriteFile(tmp, append(record, 'x'), 0o600); err != nil {
		return err
	}
	f, err := os.Open(tmp)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), os.Rename(tmp, filepath.Join(dir, "record")), lock.Sync()); err != nil {
		return err
	}
	return errors.Join(f.Close(), db.Close(), lock.Close())
}

func TestMountedProgramsSurviveCrashes(t *testing.T) {
	fusetest.Need(t)
	d := New()
	dir := t.TempDir()
	for round := range uint64(4) {
		server, err := d.Mount(dir)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), userEnv+"="+dir)
		out, err := cmd.CombinedOutput()
		if uerr := server.Unmount(); uerr != nil {
			t.Fatal(uerr)
		}
		if err != nil {
			t.Fatalf("round %d: %v: %s", round, err, out)
		}
		d.Crash(rand.New(rand.NewPCG(round, 0)))
	}
	if got := content(d, d.root, "record"); got != "xxxx" {
		t.Errorf("after four rounds the file holds %q, want xxxx", got)
	}
}

func TestRemovedAndFullDirectories(t *testing.T) {
	d := New()
	sub, errno := d.make(d.root, "sub", true, 0o700)
	must(t, errno)
	put(t, d, sub, "a", "x")
	for name, test := range map[string]struct{ got, want syscall.Errno }{
		"rmdir of a directory that is not empty": {d.remove(d.root, "sub", true), syscall.ENOTEMPTY},
		"unlink of a directory":                  {d.remove(d.root, "sub", false), syscall.EISDIR},
		"rmdir of a file":                        {d.remove(sub, "a", true), syscall.ENOTDIR},
		"removal of nothing":                     {d.remove(d.root, "none", false), syscall.ENOENT},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}
