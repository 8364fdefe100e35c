package fs

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// newLetters is a folder of a file system that is not mounted, whose queue sends nothing.
func newLetters(t *testing.T) (*FileSystem, *tree.Dir) {
	t.Helper()
	dir := t.TempDir()
	s, err := spool.Open(spool.Options{Dir: filepath.Join(dir, "spool"), Log: newLogged(io.Discard).log})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := state.Open(filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	f := New(Options{Spool: s, State: kept, Log: newLogged(io.Discard).log, Async: true})
	if err := f.staging.queue.Close(t.Context()); err != nil { // nothing is sent
		t.Fatal(err)
	}
	return f, tree.NewDir(f.Tree, tree.FolderDir, 7, 1, f.Root, "Briefe")
}

// puts writes a text behind what the file has, through a handle.
func puts(t *testing.T, h *handle, text string) {
	t.Helper()
	err := h.file.edit(t.Context(), h, false, func(up *spool.Upload) error {
		_, err := up.WriteAt([]byte(text), up.Size())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// However the writing of one program ends, and however late that shows: while another one
// writes, nothing is archived, nor kept as a file that is complete.
func TestNoEndTakesHalfOfWhatOthersWrite(t *testing.T) {
	for name, end := range map[string]func(*file, context.Context){
		"close":                        func(f *file, ctx context.Context) { _ = f.s.delivery.finish(ctx, f, false) },
		"release":                      func(f *file, ctx context.Context) { f.s.delivery.endWriting(ctx, f) },
		"release with nothing written": func(f *file, _ context.Context) { f.s.delivery.keepUnwritten(f) },
	} {
		t.Run(name, func(t *testing.T) {
			fs, d := newLetters(t)
			e, err := fs.kernel.files.create(d, "a.txt", false)
			if err != nil {
				t.Fatal(err)
			}
			f := fileAt(e)
			one, other := &handle{file: f, writer: true}, &handle{file: f, writer: true}
			puts(t, one, "one")
			one.ended()
			puts(t, other, "half")
			end(f, t.Context())
			if r := f.Up.Record(); r.State != spool.Created || r.Closed {
				t.Fatalf("while another one writes it is %+v", r)
			}
			puts(t, other, "whole")
			other.ended()
			if err := f.s.delivery.finish(t.Context(), f, false); err != nil {
				t.Error(err)
			}
			if r := f.Up.Record(); r.State != spool.Committed || !r.Queued || r.Size != int64(len("onehalfwhole")) {
				t.Errorf("after the last close it is %+v", r)
			}
		})
	}
}
