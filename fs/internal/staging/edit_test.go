package staging

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// newLetters returns a folder of a mount whose queue sends nothing.
func newLetters(t *testing.T) (*Area, *tree.Dir) {
	t.Helper()
	kept, err := state.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	s, d := newArea(t, Config{State: kept, Async: true}, &remotetest.Folder{})
	if err := s.Queue.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, d
}

// written returns an empty file in d.
func written(t *testing.T, s *Area, d *tree.Dir) *File {
	t.Helper()
	up, err := s.Spool.Create(s.Record(d, "a.txt", nil))
	if err != nil {
		t.Fatal(err)
	}
	f := s.Holder(up)
	e := tree.NewEntry("a.txt", nil, &f.Leaf)
	f.standFor(d, e)
	d.Add(e)
	return f
}

// puts appends a text to the file through a handle.
func puts(t *testing.T, h *Handle, text string) {
	t.Helper()
	err := h.edit(t.Context(), false, func(up *spool.Upload) error {
		_, err := up.WriteAt([]byte(text), up.Size())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A file that is queued takes turns with those of other people.
func TestAQueuedFileNamesWhoseItIs(t *testing.T) {
	s, d := newLetters(t)
	f := written(t, s, d)
	h := &Handle{File: f, writer: true}
	puts(t, h, "text")
	h.stopWriting()
	if err := s.Delivery.finish(t.Context(), f, false); err != nil {
		t.Fatal(err)
	}
	if up := f.Pending(); !up.State().InQueue() || whose(up) != 1001 {
		t.Errorf("%+v is not of user 1001", up.Record())
	}
}

// However one program stops writing, and however late that is noticed: while another one writes,
// the file is neither archived nor kept as complete.
func TestNoEndTakesHalfOfWhatOthersWrite(t *testing.T) {
	for name, end := range map[string]func(*File, context.Context){
		"close":                        func(f *File, ctx context.Context) { _ = f.s.Delivery.finish(ctx, f, false) },
		"release":                      func(f *File, ctx context.Context) { f.s.Delivery.endWriting(ctx, f) },
		"release with nothing written": func(f *File, _ context.Context) { f.s.Delivery.keepUnwritten(f) },
	} {
		t.Run(name, func(t *testing.T) {
			s, d := newLetters(t)
			f := written(t, s, d)
			one, other := &Handle{File: f, writer: true}, &Handle{File: f, writer: true}
			puts(t, one, "one")
			one.stopWriting()
			puts(t, other, "half")
			end(f, t.Context())
			if r := f.Pending().Record(); !r.State.Due() {
				t.Fatalf("while another one writes it is %+v", r)
			}
			puts(t, other, "whole")
			other.stopWriting()
			if err := f.s.Delivery.finish(t.Context(), f, false); err != nil {
				t.Error(err)
			}
			if r := f.Pending().Record(); r.State != spool.Queued || r.Size != int64(len("onehalfwhole")) {
				t.Errorf("after the last close it is %+v", r)
			}
		})
	}
}
