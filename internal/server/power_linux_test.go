package server_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/faultlab/disk"
	"github.com/archivefs/archivefs/internal/server"
)

// Where the test binary, run once more, keeps an archive on a forgetful disk, and what it
// does with it: a process must not use a disk that it serves.
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
	os.Exit(m.Run())
}

// useDisk makes an archive with a document and ends without closing it, or looks for it.
func useDisk(data, task string) error {
	ctx := context.Background()
	if _, err := os.Stat(data); task == "look" && err != nil {
		return err
	}
	s, err := server.Open(ctx, server.Options{Data: data, Credentials: server.Credentials{APIKey: testKey}})
	if err != nil {
		return err
	}
	if task == "make" {
		mandator, err := s.AddMandator(ctx, "Muster GmbH")
		if err != nil {
			return err
		}
		return add(ctx, s, mandator)
	}
	empty, err := s.Empty(ctx)
	if err == nil && empty {
		err = errors.New("the archive is empty")
	}
	contents, gerr := filepath.Glob(filepath.Join(data, "contents", "??", "*"))
	if gerr == nil && len(contents) != 1 {
		gerr = errors.New("the content is gone")
	}
	return errors.Join(err, gerr, s.Close())
}

func add(ctx context.Context, s *server.Server, folder archive.ID) error {
	_, err := s.AddDocument(ctx, server.NewDocument{Folder: folder, Name: "a.txt", Created: day, Archived: day}, strings.NewReader("a"))
	return err
}

// The machine crashes after a document was archived in a new data directory: the directory,
// and all in it, is still there.
func TestANewArchiveSurvivesACrashOfTheMachine(t *testing.T) {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		if os.Getenv("ARCHIVEFS_REQUIRE_FUSE") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for seed := range uint64(4) {
		d, dir := disk.New(), t.TempDir()
		for _, task := range []string{"make", "look"} {
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
				t.Fatalf("seed %d, %s: %v: %s", seed, task, err, out)
			}
			d.Crash(rand.New(rand.NewPCG(seed, 0)))
		}
	}
}
