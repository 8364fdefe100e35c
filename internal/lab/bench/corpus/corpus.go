package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// version changes when what is made changes, so that an older corpus is made anew.
const version = 1

// Corpus is a corpus on disk.
type Corpus struct {
	Dir string `json:"-"`

	Version int    `json:"version"`
	Seed    uint64 `json:"seed"`
	Shape   Shape  `json:"shape"`

	// What the trees hold, for those who count.
	W    Count `json:"W"`
	M    Count `json:"M"`
	M500 Count `json:"M500"`
	S    Count `json:"S"`

	Wide    string `json:"wide"`    // the folder of W, relative to Tree
	Part    string `json:"part"`    // M500, relative to Tree
	Big     string `json:"big"`     // the big document, relative to Tree
	InFiles int    `json:"inFiles"` // what there is to copy in
	InBytes int64  `json:"inBytes"`
}

// Count is how much a tree holds; Folders counts its top, too.
type Count struct {
	Folders   int `json:"folders"`
	Documents int `json:"documents"`
}

// Tree is the directory with S, M, W and IN, of which the last is empty.
func (c *Corpus) Tree() string { return filepath.Join(c.Dir, "arch") }

// In is the directory of documents to copy in, and BigIn the big file.
func (c *Corpus) In() string { return filepath.Join(c.Dir, "in") }

// BigIn is the big file to copy in.
func (c *Corpus) BigIn() string { return filepath.Join(c.Dir, "in.bin") }

// SmallList is a file of paths relative to S, each ended by NUL: its small documents.
func (c *Corpus) SmallList() string { return filepath.Join(c.Dir, "small.list") }

// SampleList likewise holds some of them, spread over all folders.
func (c *Corpus) SampleList() string { return filepath.Join(c.Dir, "sample.list") }

func (c *Corpus) recordPath() string { return filepath.Join(c.Dir, "corpus.json") }

// Make returns the corpus in dir. It is made unless it is there already.
func Make(dir string, shape Shape, seed uint64) (*Corpus, error) {
	c := &Corpus{Dir: dir, Version: version, Seed: seed, Shape: shape}
	known, err := read(c.recordPath())
	if err == nil && known.Version == version && known.Seed == seed && known.Shape == shape {
		known.Dir = dir
		return known, known.empty()
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := c.generate(); err != nil {
		return nil, fmt.Errorf("make the corpus: %w", err)
	}
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return nil, err
	}
	return c, os.WriteFile(c.recordPath(), text, 0o600) // the last, so that half a corpus is none
}

func read(path string) (*Corpus, error) {
	text, err := os.ReadFile(path) //nolint:gosec // below the corpus
	if err != nil {
		return nil, err
	}
	c := new(Corpus)
	return c, json.Unmarshal(text, c)
}

// empty removes what an earlier run copied in.
func (c *Corpus) empty() error {
	in := filepath.Join(c.Tree(), "IN")
	if err := os.RemoveAll(in); err != nil {
		return err
	}
	return os.MkdirAll(in, 0o750)
}

// Stamp makes the contents to copy in new ones, by a number that no earlier call had:
// a server that keeps equal contents once must not find them there.
func (c *Corpus) Stamp(number uint64) error {
	entries, err := os.ReadDir(c.In())
	if err != nil {
		return err
	}
	paths := []string{c.BigIn()}
	for _, e := range entries {
		paths = append(paths, filepath.Join(c.In(), e.Name()))
	}
	for i, path := range paths {
		if err := stamp(path, number<<16+uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

func stamp(path string, mark uint64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // below the corpus
	if err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%0*x", MarkLength, mark), MarkAt)
	return errors.Join(err, f.Close())
}

// writeList writes paths, each ended by NUL.
func writeList(path string, paths []string) error {
	return os.WriteFile(path, []byte(strings.Join(paths, "\x00")+"\x00"), 0o600)
}
