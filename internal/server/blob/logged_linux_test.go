package blob_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/archivefs/archivefs/internal/journal"
	"github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

func keepLog(files *blob.Files, size int64) (*blob.Files, error) {
	log, _ := test.NewNullLogger()
	log.SetLevel(logrus.PanicLevel)
	return files, files.KeepLog(size, log)
}

// logging opens contents with a journal of segments of 1 MiB.
func logging(t *testing.T, dir string) *blob.Files {
	t.Helper()
	files, err := keepLog(openFiles(t, dir), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// publish publishes contents, which differ with n, and returns them.
func publish(files *blob.Files, n, count int) (published []string, err error) {
	for i := range count {
		content := strings.Repeat(fmt.Sprintf("content %d of %d. ", i, n), 100+i%50)
		staged, serr := files.Stage(nil, strings.NewReader(content)) //nolint:staticcheck // it needs none
		if serr == nil {
			serr = files.Publish(nil, staged) //nolint:staticcheck // as above
		}
		if serr != nil {
			return published, serr
		}
		published, err = append(published, content), errors.Join(err, staged.Discard())
	}
	return published, err
}

// intoTheLog publishes contents, more than one segment of the journal takes.
func intoTheLog(files *blob.Files) (published []string, err error) { return publish(files, 0, 400) }

func wantAll(t *testing.T, open func(digest string) (io.ReadCloser, error), published []string) {
	t.Helper()
	for _, content := range published {
		r, err := open(digest(content))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || string(got) != content {
			t.Fatalf("%d bytes of %d are left, %v", len(got), len(content), err)
		}
	}
}

// left returns the keys that the log of a directory has.
func left(t *testing.T, dir string) (keys []string) {
	t.Helper()
	done, err := journal.Read(dir, func(e journal.Replayed) { keys = append(keys, e.Key) })
	if err != nil {
		t.Fatal(err)
	}
	done()
	return keys
}

// Contents that have no files are read from the journal, by the service and by those who only look, get their files
// when the service ends, and when the next one begins after an interruption.
func TestContentsThatOnlyTheLogHas(t *testing.T) {
	dir, image := t.TempDir(), filepath.Join(t.TempDir(), "image")
	files := logging(t, dir)
	view, held := blob.ViewFiles(dir), hold(t, dir)
	published, err := publish(files, -2, 30)
	if err != nil {
		t.Fatal(err)
	}
	more, err := publish(files, -3, 30)
	if err := errors.Join(err, held.Release()); err != nil {
		t.Fatal(err)
	}
	gone, placed, rest := published[0], published[1], append(more, published[1:]...)
	wantAll(t, opening(t, view), published)
	if err := files.Remove(t.Context(), digest(gone)); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, files, gone)
	for content, want := range map[string]string{placed: contentFile(dir, placed), gone: ""} {
		if path := files.File(digest(content), true); path != want {
			t.Errorf("the file will be %q, want %q", path, want)
		}
	}
	if found := walk(t, files, time.Now().Add(time.Hour)); len(found) != 0 {
		t.Errorf("there already are files of %q", found)
	}
	if path := files.File(digest(placed), false); path != contentFile(dir, placed) {
		t.Errorf("the file is %q", path)
	}
	if found := walk(t, files, time.Now().Add(time.Hour)); !slices.Equal(found, []string{digest(placed)}) {
		t.Errorf("there are files of %q", found)
	}
	digests := make([]string, 0, len(rest))
	for _, content := range rest {
		digests = append(digests, digest(content))
	}
	if has, err := files.Has(t.Context(), digests...); !has || err != nil {
		t.Errorf("all contents are there: %v, %v", has, err)
	}
	wantAll(t, opening(t, files), rest)
	wantAll(t, opening(t, view), rest) // which looks again
	if err := errors.Join(os.CopyFS(image, os.DirFS(dir)), files.Close()); err != nil {
		t.Fatal(err)
	}
	if keys := left(t, dir); len(keys) != 0 {
		t.Errorf("after Close the log has %q", keys)
	}
	wantAll(t, opening(t, view), rest) // which has looked before
	wantAll(t, opening(t, blob.ViewFiles(dir)), rest)
	if err := view.Close(); err != nil {
		t.Error(err)
	}

	keys := left(t, image)
	if !slices.Contains(keys, digest(gone)) || len(keys) != 60 {
		t.Fatalf("the log has %q", keys)
	}
	view, held = blob.ViewFiles(image), hold(t, image)
	wantAll(t, opening(t, view), rest)
	wantAll(t, func(digest string) (io.ReadCloser, error) { return held.Open(t.Context(), digest) }, rest)
	if err := errors.Join(held.Release(), view.Close()); err != nil {
		t.Error(err)
	}
	if now := left(t, image); !slices.Equal(now, keys) {
		t.Error("looking has changed the log")
	}
	for range 2 {
		files = logging(t, image)
		wantAll(t, opening(t, blob.ViewFiles(image)), rest)
		if keys := left(t, image); len(keys) != 0 {
			t.Errorf("after it was replayed the log has %q", keys)
		}
	}
	if found := walk(t, files, time.Now().Add(time.Hour)); !slices.Contains(found, digest(gone)) {
		t.Error("a removed content does not come back, to be swept")
	}
	if err := files.Close(); err != nil {
		t.Error(err)
	}
}

// Who holds the contents reads one that is removed before it has a file.
func TestRemovedFromTheLogDuringAHold(t *testing.T) {
	dir := t.TempDir()
	files := logging(t, dir)
	published, err := publish(files, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	held := hold(t, dir)
	if err := errors.Join(files.Remove(t.Context(), digest(published[1])), files.Close()); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, files, published[1])
	wantAll(t, func(digest string) (io.ReadCloser, error) { return held.Open(t.Context(), digest) }, published)
	if err := held.Release(); err != nil {
		t.Error(err)
	}
}

// A log that is not emptied as fast as it grows takes no more, and contents get their files at once.
func TestCrowdedLog(t *testing.T) {
	dir := t.TempDir()
	files, err := keepLog(openFiles(t, dir), 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(dir, "00")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil { // where the file of some content belongs
		t.Fatal(err)
	}
	var published []string
	placed := false
	for n := 0; !placed && n < 10_000; n++ {
		more, err := publish(files, n, 1)
		if err != nil { // it would have been placed there
			break
		}
		published = append(published, more...)
		_, err = os.Stat(contentFile(dir, more[0]))
		placed = err == nil && len(left(t, dir)) > 500
	}
	if !placed {
		t.Error("all contents are in the log")
	}
	wantAll(t, opening(t, files), published)
	if err := files.Close(); err == nil {
		t.Error("contents that could not get their files are no error")
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	wantAll(t, opening(t, logging(t, dir)), published)
}

// opening opens contents of files.
func opening(t *testing.T, files *blob.Files) func(digest string) (io.ReadCloser, error) {
	return func(digest string) (io.ReadCloser, error) { return files.Open(t.Context(), digest) }
}

// contentFile is the path of a content's file.
func contentFile(dir, content string) string {
	return filepath.Join(dir, digest(content)[:2], digest(content))
}

// Without room for its files contents are published as without a journal.
func TestALogThatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	files, err := keepLog(openFiles(t, dir), 1<<50)
	if err != nil {
		t.Fatal(err)
	}
	published, err := publish(files, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, func(digest string) (io.ReadCloser, error) { return files.Open(t.Context(), digest) }, published)
	if err := files.Close(); err != nil {
		t.Error(err)
	}
	if there, err := filepath.Glob(filepath.Join(dir, "log*")); err != nil || there != nil {
		t.Errorf("there is %q, %v", there, err)
	}
}

// Contents are published and removed at the same time, also while the log is checkpointed.
func TestManyUseTheLog(t *testing.T) {
	dir := t.TempDir()
	files := logging(t, dir)
	if _, err := intoTheLog(files); err != nil {
		t.Fatal(err)
	}
	all := make([][]string, 8)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = publish(files, 10_000+i, 300); err != nil {
				t.Error(err)
			}
			for _, content := range all[i][:100] {
				if err := files.Remove(t.Context(), digest(content)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	files = openFiles(t, dir)
	for _, published := range all {
		wantAll(t, func(digest string) (io.ReadCloser, error) { return files.Open(t.Context(), digest) }, published[100:])
		wantMissing(t, files, published[0])
	}
}

const (
	diskEnv = "BLOB_DISK"
	taskEnv = "BLOB_TASK"
)

func readContent(files *blob.Files, digest string) ([]byte, error) {
	r, err := files.Open(nil, digest) //nolint:staticcheck // it needs none
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(r)
}

// A process of its own uses the disk, which this one serves, and ends as if it was killed.
func TestInAProcessOfItsOwn(t *testing.T) {
	dir := os.Getenv(diskEnv)
	if dir == "" {
		t.Skip("it is for the test below")
	}
	dir = filepath.Join(dir, "contents")
	opened, err := blob.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := keepLog(opened, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(os.Getenv(taskEnv), "published")
	if text, err := os.ReadFile(list); err == nil {
		for d := range strings.FieldsSeq(string(text)) {
			content, err := readContent(files, d)
			if err != nil || digest(string(content)) != d {
				t.Errorf("%d bytes of %s are left, %v", len(content), d, err)
			}
		}
	} else {
		published, err := publish(files, 0, 200) // more than the log takes: some are checkpointed
		if err != nil {
			t.Fatal(err)
		}
		var digests []string
		for _, content := range published {
			digests = append(digests, digest(content))
		}
		if err := os.WriteFile(list, []byte(strings.Join(digests, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if t.Failed() {
		return
	}
	os.Exit(0)
}

// What Publish has published through the log survives a crash of the machine, and another one after the
// log was replayed, also if the first syncs of files fail.
func TestPublishedContentsSurviveACrashOfTheMachine(t *testing.T) {
	t.Parallel()
	fusetest.Need(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d, dir, list := disk.New(), t.TempDir(), t.TempDir()
			for round := range 3 {
				if seed%2 == 1 && round == 0 {
					d.Fail(disk.Fault{Op: disk.Sync, Name: ".tmp-*", Nth: 1, Times: 3, Errno: syscall.EIO})
				}
				mounted, err := d.Mount(dir)
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInAProcessOfItsOwn$")
				cmd.Env = append(os.Environ(), diskEnv+"="+dir, taskEnv+"="+list)
				out, err := cmd.CombinedOutput()
				if uerr := mounted.Unmount(); uerr != nil {
					t.Fatal(uerr)
				}
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				d.Crash(rand.New(rand.NewPCG(seed, 0)))
			}
		})
	}
}
