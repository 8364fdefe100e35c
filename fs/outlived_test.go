package fs

import (
	"io"
	"testing"

	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// The pages of a file go with its last reader only where nobody will read them any more.
func TestWhosePagesGoWithTheLastReader(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*file)
		want   bool
	}{
		"read through us":         {change: func(*file) {}, want: true},
		"read still":              {change: func(f *file) { f.Reading = &content.Reading{} }},
		"open, and not read yet":  {change: func(f *file) { f.Handles = 1 }},
		"about to be opened":      {change: func(f *file) { f.EnterOpen() }},
		"opened before":           {change: func(f *file) { f.EnterOpen()() }, want: true},
		"being dropped":           {change: func(f *file) { f.Outlived() }},
		"read by the kernel":      {change: func(f *file) { f.Way = content.ByKernel }},
		"replaced by another one": {change: func(f *file) { f.Superseded = map[uint32]bool{} }},
		"written to":              {change: func(f *file) { f.Up = &spool.Upload{} }},
		"shown nowhere":           {change: func(f *file) { f.Dir = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFile(newLogged(io.Discard).staging, 0, &tree.Dir{}, nil, nil, nil)
			f.Way = content.ThroughUs
			tt.change(f)
			if _, got := f.Outlived(); got != tt.want {
				t.Errorf("they go: %v", got)
			}
		})
	}
}
