package history

import (
	"maps"
	"path"
	"strings"
	"time"
)

// Op is a step of a program that works for a while on files and folders of its own, below the mount point.
type Op struct {
	Do   Deal
	Path string
	To   string        // of Name
	Of   int           // the content of Put, or the number of the folder of Make, which is negative
	Size int           // of the content, in bytes
	For  time.Duration // of Pause
}

// Deal is what an Op does.
type Deal string

// The deals.
const (
	Make  Deal = "make"  // a folder
	Put   Deal = "put"   // a file, or new bytes into one
	Name  Deal = "name"  // renames or moves
	Drop  Deal = "drop"  // removes a file, or an empty folder
	Send  Deal = "send"  // ends the time of grace
	Pause Deal = "pause" // does nothing
)

// Tree is what a program has made, by path: the index of a content, or the number of a folder, which is
// negative.
type Tree map[string]int

// After returns the tree after an Op that succeeded; ok is false if it cannot succeed in this tree.
func (t Tree) After(o Op) (after Tree, ok bool) {
	after = maps.Clone(t)
	of, there := t[o.Path]
	switch o.Do {
	case Make:
		after[o.Path] = o.Of
		return after, !there
	case Put:
		after[o.Path] = o.Of
		return after, of >= 0
	case Drop:
		delete(after, o.Path)
		return after, there && len(t.below(o.Path)) == 0
	case Name:
		if over, taken := t[o.To]; !there || taken && (over < 0) != (of < 0) || len(t.below(o.To)) > 0 {
			return nil, false
		}
		for _, p := range append(t.below(o.Path), o.Path) {
			delete(after, p)
		}
		for _, p := range append(t.below(o.Path), o.Path) {
			after[o.To+strings.TrimPrefix(p, o.Path)] = t[p]
		}
	}
	return after, true
}

// below returns the paths below a folder.
func (t Tree) below(dir string) (all []string) {
	for p := range t {
		if strings.HasPrefix(p, dir+"/") {
			all = append(all, p)
		}
	}
	return all
}

// Names of which programs make files and folders that stay on this machine.
const (
	unison  = ".unison.%s.0123456789abcdef0123456789abcdef.unison.tmp"
	safe    = "%s.sb-6d6ce842-tI5oYC"
	part    = "%s.part"
	doubted = "%s.Ab3dEf" // may be a document's
)

// Stays reports whether what has the path stays on this machine, by its name or that of a folder above it.
func Stays(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(name, ".unison.") || strings.HasSuffix(name, ".sb-6d6ce842-tI5oYC") {
			return true
		}
	}
	return strings.HasSuffix(p, ".part")
}

// Doubted reports whether the name may be a working name.
func Doubted(p string) bool { return strings.HasSuffix(path.Base(p), ".Ab3dEf") }
