package content

import (
	"testing"

	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// The pages of a file go with its last reader only where nobody will read them any more.
// It is alone, so nothing is locked.
func TestWhosePagesGoWithTheLastReader(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*File)
		want   bool
	}{
		"read through us":         {change: func(*File) {}, want: true},
		"read still":              {change: func(f *File) { f.Reading = &Reading{} }}, // +checklocksignore
		"open, and not read yet":  {change: func(f *File) { f.Handles = 1 }},          // +checklocksignore
		"about to be opened":      {change: func(f *File) { f.EnterOpen() }},
		"opened before":           {change: func(f *File) { f.EnterOpen()() }, want: true},
		"being dropped":           {change: func(f *File) { f.Outlived() }},
		"read by the kernel":      {change: func(f *File) { f.Way = ByKernel }},                 // +checklocksignore
		"replaced by another one": {change: func(f *File) { f.Superseded = map[uint32]bool{} }}, // +checklocksignore
		"written to":              {change: func(f *File) { f.Up = &spool.Upload{} }},           // +checklocksignore
		"shown nowhere":           {change: func(f *File) { f.Dir = nil }},                      // +checklocksignore
	} {
		t.Run(name, func(t *testing.T) {
			f := &File{Way: ThroughUs, Leaf: tree.Leaf{Dir: &tree.Dir{}}}
			tt.change(f)
			if _, got := f.Outlived(); got != tt.want {
				t.Errorf("they go: %v", got)
			}
		})
	}
}
