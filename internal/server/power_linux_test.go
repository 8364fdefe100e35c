package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// The test binary is run again with these variables: the directory of an archive on a forgetful disk,
// and the task. A process must not use a disk that it serves.
const (
	diskEnv = "FORGETFUL_DISK"
	taskEnv = "FORGETFUL_TASK"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(diskEnv); dir != "" {
		if err := useDisk(filepath.Join(dir, "new", "office"), os.Getenv(taskEnv)); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := s3test.Login(); err != nil { // parallel tests cannot
		println(err.Error())
		os.Exit(1)
	}
	code := m.Run()
	s3test.End()
	pgtest.End()
	os.Exit(code)
}

// useDisk makes an archive with a document and ends without closing it, or checks it.
func useDisk(data, task string) error {
	ctx := context.Background()
	switch task {
	case "erase":
		return erase(ctx, data)
	case "look for what was erased":
		paths, err := filesBelow(data)
		return errors.Join(err, wantErased(paths...))
	}
	if _, err := os.Stat(data); task == "look" && err != nil {
		return err
	}
	s, err := server.Open(ctx, server.Options{Data: data, Credentials: server.Credentials{APIKey: testKey}, LogSize: logSize})
	if err != nil {
		return err
	}
	if task == "make beside another" {
		// Another upload made the directory of the content, and was interrupted.
		if err := os.Mkdir(filepath.Join(data, "contents", contentOfA[:2]), 0o700); err != nil {
			return err
		}
		task = "make"
	}
	if task == "add secrets" {
		return addSecrets(ctx, s, data)
	}
	if task == "make" {
		mandator, err := s.AddMandator(ctx, "Muster GmbH")
		if err != nil {
			return err
		}
		return add(ctx, s, mandator)
	}
	if task == "add many" {
		return addMany(ctx, s)
	}
	empty, err := s.Empty(ctx)
	if err == nil && empty {
		err = errors.New("the archive is empty")
	}
	return errors.Join(err, wantWhole(data, task), s.Close())
}

// secret is in the documents that erase erases.
const secret = "Das Geheimnis von Frau Muster"

// addSecrets adds documents until the log of contents has some of them, and does not close the archive.
func addSecrets(ctx context.Context, s *server.Server, data string) error {
	mandator, err := s.AddMandator(ctx, "M")
	if err != nil {
		return err
	}
	for n := 0; !inLog(data); n += 20 {
		var adds errgroup.Group
		for i := range 20 {
			adds.Go(func() error {
				text := strings.NewReader(fmt.Sprintf("%s %d", secret, n+i))
				_, err := s.AddDocument(ctx, server.NewDocument{Folder: mandator, Name: fmt.Sprint(n + i), Created: day, Archived: day}, text)
				return err
			})
		}
		if err := adds.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// addMany adds many documents at once, and does not close the archive.
func addMany(ctx context.Context, s *server.Server) error {
	mandator, err := s.AddMandator(ctx, "M")
	if err != nil {
		return err
	}
	var adds errgroup.Group
	for i := range atOnce {
		adds.Go(func() error {
			d := server.NewDocument{Folder: mandator, Name: fmt.Sprintf("%d.txt", i), Created: day, Archived: day}
			_, err := s.AddDocument(ctx, d, strings.NewReader(fmt.Sprint("document ", i)))
			return err
		})
	}
	return adds.Wait()
}

// inLog reports whether the log of contents has the secret.
func inLog(data string) bool {
	log, _ := filepath.Glob(filepath.Join(data, "contents", "log.?")) // the pattern is right
	return len(log) > 0 && wantErased(log...) != nil
}

// erase erases all documents, of an archive that no service uses.
func erase(ctx context.Context, data string) error {
	if !inLog(data) {
		return errors.New("the log of contents has nothing to be erased")
	}
	a, err := server.OpenAdmin(ctx, server.Place{Data: data, LogSize: logSize})
	if err != nil {
		return err
	}
	var ids []archive.ID
	for err == nil {
		ids = append(ids, archive.ID(len(ids)+1))
		err = a.Remove(ctx, ids[len(ids)-1:], "Art. 17", inAMonth, true)
	}
	if len(ids) < 2 || archive.KindOf(err) != archive.KindNotFound {
		return err
	}
	return a.EmptyTrash(ctx, ids[:len(ids)-1])
}

// wantErased checks that no file has the secret.
func wantErased(paths ...string) error {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(secret)) {
			err = fmt.Errorf("%s has what was erased", path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// filesBelow returns the paths of all files below a directory, but those that a crash has left of contents
// that were being published, which the next service removes.
func filesBelow(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !durable.IsTemp(entry.Name()) {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

// wantWhole checks that the contents are those of the previous task.
func wantWhole(data, task string) error {
	want := 1
	if task == "look for many" {
		want = atOnce
	}
	contents, err := filepath.Glob(filepath.Join(data, "contents", "??", "*"))
	if err != nil {
		return err
	}
	if len(contents) != want {
		return fmt.Errorf("%d contents are left, want %d", len(contents), want)
	}
	for _, path := range contents {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if fmt.Sprintf("%x", sha256.Sum256(content)) != filepath.Base(path) {
			return fmt.Errorf("%d bytes of %s are left", len(content), path)
		}
	}
	return nil
}

// contentOfA is the digest of the document that add adds.
const contentOfA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"

func add(ctx context.Context, s *server.Server, folder archive.ID) error {
	_, err := s.AddDocument(ctx, server.NewDocument{Folder: folder, Name: "a.txt", Created: day, Archived: day}, strings.NewReader("a"))
	return err
}

// atOnce is how many documents are added at once.
const atOnce = 40

// The machine crashes after a document was archived in a new data directory: the directory,
// and all in it, is still there.
func TestANewArchiveSurvivesACrashOfTheMachine(t *testing.T) {
	t.Parallel()
	crashBetween(t, "make", "look")
}

// The directory of a content exists, but was not synced yet.
func TestAContentSurvivesInADirectoryThatAnotherMade(t *testing.T) {
	t.Parallel()
	crashBetween(t, "make beside another", "look")
}

func TestManyDocumentsSurviveACrashOfTheMachine(t *testing.T) {
	t.Parallel()
	crashBetween(t, "add many", "look for many")
}

// What was erased does not come back, out of the log of contents or elsewhere.
func TestAnErasureSurvivesACrashOfTheMachine(t *testing.T) {
	t.Parallel()
	crashBetween(t, "add secrets", "erase", "look for what was erased")
}

// crashBetween does the tasks in processes of their own, each followed by a crash.
func crashBetween(t *testing.T, tasks ...string) {
	t.Helper()
	fusetest.Need(t)
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			crashBetweenBy(t, seed, tasks)
		})
	}
}

// crashBetweenBy does it once; the seed says what a crash leaves.
func crashBetweenBy(t *testing.T, seed uint64, tasks []string) {
	t.Helper()
	d, dir := disk.New(), t.TempDir()
	for _, task := range tasks {
		mounted, err := d.Mount(dir)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), diskEnv+"="+dir, taskEnv+"="+task)
		out, err := cmd.CombinedOutput()
		if uerr := mounted.Unmount(); uerr != nil {
			t.Fatal(uerr)
		}
		if err != nil {
			t.Fatalf("%s: %v: %s", task, err, out)
		}
		d.Crash(rand.New(rand.NewPCG(seed, 0)))
	}
}
