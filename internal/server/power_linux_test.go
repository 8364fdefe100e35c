package server_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// The test binary is run again with these variables: the directory of an archive on a forgetful disk,
// and the task. A process must not use a disk that it serves.
const (
	diskEnv   = "FORGETFUL_DISK"
	taskEnv   = "FORGETFUL_TASK"
	sourceEnv = "FORGETFUL_SOURCE" // a tree to be imported
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
	if _, err := os.Stat(data); task == "look" && err != nil {
		return err
	}
	s, err := server.Open(ctx, server.Options{Data: data, Credentials: server.Credentials{APIKey: testKey}})
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
	if task == "make" {
		mandator, err := s.AddMandator(ctx, "Muster GmbH")
		if err != nil {
			return err
		}
		return add(ctx, s, mandator)
	}
	if task == "import" {
		_, err := s.Import(ctx, server.Import{Dir: os.Getenv(sourceEnv)})
		return err
	}
	empty, err := s.Empty(ctx)
	if err == nil && empty {
		err = errors.New("the archive is empty")
	}
	return errors.Join(err, wantWhole(data, task), s.Close())
}

// wantWhole checks that the contents are those of the previous task.
func wantWhole(data, task string) error {
	want := 1
	if task == "look for the import" {
		want = imports
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

// imports is how many documents the imported tree has.
const imports = 40

// The machine crashes after a document was archived in a new data directory: the directory,
// and all in it, is still there.
func TestANewArchiveSurvivesACrashOfTheMachine(t *testing.T) {
	t.Parallel()
	crashBetween(t, "", "make", "look")
}

// The directory of a content exists, but was not synced yet.
func TestAContentSurvivesInADirectoryThatAnotherMade(t *testing.T) {
	t.Parallel()
	crashBetween(t, "", "make beside another", "look")
}

func TestAnImportSurvivesACrashOfTheMachine(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range imports {
		files[fmt.Sprintf("M/%d/%d.txt", i%3, i)] = fmt.Sprint("document ", i)
	}
	crashBetween(t, plant(t, "office", files), "import", "look for the import")
}

// crashBetween does the tasks in processes of their own, each followed by a crash. They may import a tree.
func crashBetween(t *testing.T, source string, tasks ...string) {
	t.Helper()
	fusetest.Need(t)
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			crashBetweenBy(t, seed, source, tasks)
		})
	}
}

// crashBetweenBy does it once; the seed says what a crash leaves.
func crashBetweenBy(t *testing.T, seed uint64, source string, tasks []string) {
	t.Helper()
	d, dir := disk.New(), t.TempDir()
	for _, task := range tasks {
		mounted, err := d.Mount(dir)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), diskEnv+"="+dir, taskEnv+"="+task, sourceEnv+"="+source)
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
