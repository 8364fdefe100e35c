// Command sample draws the sample archive of internal/sample into a file: go generate ./internal/sample.
//
// The archive is the same on every run, byte by byte, as long as Go and the libraries are the same: it uses no clock
// and no outside source of randomness. Persons, companies and accounts are invented; mail domains end in .example
// (RFC 2606).
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/archivefs/archivefs/internal/lab/program"
	"github.com/archivefs/archivefs/internal/sample"
)

func main() {
	program.Run("sample", func(args []string) (func(context.Context) error, error) {
		if len(args) != 1 {
			return nil, errors.New("usage: sample FILE")
		}
		return func(context.Context) error {
			var packed bytes.Buffer
			if err := newPlan().pack(&packed); err != nil {
				return err
			}
			return os.WriteFile(args[0], packed.Bytes(), 0o644) //nolint:gosec // a file of the repository
		}, nil
	})
}

// source writes the bytes of a document: the same ones each time.
type source func(w io.Writer) error

// entry is a document of the plan.
type entry struct {
	sample.Document
	content source
}

// folder is a mandator or a folder of the plan, with its contents.
type folder struct {
	name    string
	folders []folder
	entries []entry
}

// inbox is an inbox of the plan with the documents that wait in it.
type inbox struct {
	userID  int64
	name    string
	entries []entry
}

// plan is the whole sample archive before it is drawn.
type plan struct {
	mandators []folder
	inboxes   []inbox
}

// newPlan returns the sample archive. Each part draws from a random stream of its own, so a change in one leaves the
// bytes of the others as they are.
func newPlan() plan {
	return plan{
		mandators: []folder{
			musterFolders(newClerk(1, muster(), staff())),
			bakeryFolders(newClerk(2, bakery(), []string{"Gülsüm Körner", "Hans-Jörg Körner"})),
		},
		inboxes: waitingDocuments(newClerk(3, muster(), staff())),
	}
}

// archive returns the plan as internal/sample reads it, and what draws its documents in the order in which they are
// loaded.
func (p plan) archive() (a sample.Archive, contents []source) {
	documents := func(entries []entry) (docs []sample.Document) {
		for _, e := range entries {
			docs, contents = append(docs, e.Document), append(contents, e.content)
		}
		return docs
	}
	var whole func(f folder) sample.Folder
	whole = func(f folder) sample.Folder {
		packed := sample.Folder{Name: f.name, Documents: documents(f.entries)}
		for _, sub := range f.folders {
			packed.Folders = append(packed.Folders, whole(sub))
		}
		return packed
	}
	for _, m := range p.mandators {
		a.Mandators = append(a.Mandators, whole(m))
	}
	for _, in := range p.inboxes {
		a.Inboxes = append(a.Inboxes, sample.Inbox{UserID: in.userID, Name: in.name, Documents: documents(in.entries)})
	}
	return a, contents
}

// pack draws the plan into a ZIP file whose comment is the release of Go that drew it.
func (p plan) pack(w io.Writer) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	if err := z.SetComment(runtime.Version()); err != nil {
		return err
	}
	a, contents := p.archive()
	first, err := z.Create("archive.json")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(first).Encode(a); err != nil {
		return err
	}
	for i, draw := range contents {
		content, err := z.Create(fmt.Sprintf("%04d", i+1))
		if err != nil {
			return err
		}
		if err := draw(content); err != nil {
			return err
		}
	}
	return z.Close()
}
