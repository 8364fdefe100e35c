// Package generated is a synthetic archive, for trying out how programs behave on a huge one. The
// names, dates and bytes of folders and documents are computed from their ids on demand. The archive
// is always the same, takes no memory and no disk, and cannot be changed.
//
// Folders are numbered from 1 in pre-order, so that a folder and everything below it have
// consecutive ids. Every folder has the same number of documents, numbered in the order of the
// folders. Everything else is arithmetic on these ids.
//
// It replaces packages store and blob below the handlers of the service.
package generated

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Archive is a generated archive. Its methods may be called concurrently; those that would
// change it return an error of archive.KindForbidden.
type Archive struct {
	Shape
	fixed
	names *names
}

// New returns the archive of a shape that ParseShape takes.
func New(shape Shape) *Archive { return &Archive{Shape: shape, names: newNames()} }

// refuse makes an error that a caller can act on; the detail is for people.
func refuse(kind archive.Kind, format string, args ...any) error {
	return &archive.Error{Op: "generated archive", Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Folder returns one folder, KindNotFound when there is none of that id.
func (a *Archive) Folder(_ context.Context, id archive.ID) (store.Folder, error) {
	if !a.hasFolder(id) {
		return store.Folder{}, refuse(archive.KindNotFound, "there is no folder %d", id)
	}
	return a.folder(a.place(id)), nil
}

func (a *Archive) folder(p place) store.Folder {
	f := store.Folder{ID: p.ids[p.level], Name: a.names.of(p)}
	if p.level > 0 {
		f.Parent = p.ids[p.level-1]
	}
	return f
}

// Child returns the folder of that name below parent; parent 0 looks among the mandators.
func (a *Archive) Child(ctx context.Context, parent archive.ID, name string) (store.Folder, error) {
	folders, err := a.Roots(ctx, false)
	if parent != 0 {
		folders, err = a.Children(ctx, parent)
	}
	if err != nil {
		return store.Folder{}, err
	}
	for _, f := range folders {
		if f.Name == name {
			return f, nil
		}
	}
	return store.Folder{}, refuse(archive.KindNotFound, "there is no folder %q", name)
}

// Lineage returns the folder and those above it, the root first.
func (a *Archive) Lineage(ctx context.Context, id archive.ID) ([]store.Folder, error) {
	if _, err := a.Folder(ctx, id); err != nil {
		return nil, err
	}
	p := a.place(id)
	var folders []store.Folder
	for level := range p.level + 1 {
		folders = append(folders, a.folder(place{level: level, ids: p.ids, at: p.at}))
	}
	return folders, nil
}

// Roots returns the mandators; there are no inboxes.
func (a *Archive) Roots(_ context.Context, inboxes bool) ([]store.Folder, error) {
	if inboxes {
		return nil, nil
	}
	return a.every(1, archive.ID(a.Folders)+1, sizes()[0]), nil
}

// Tree returns all folders; there are no inboxes.
func (a *Archive) Tree(_ context.Context, inboxes bool) ([]store.Folder, error) {
	if inboxes {
		return nil, nil
	}
	return a.every(1, archive.ID(a.Folders)+1, 1), nil
}

// Children returns the folders directly below parent.
func (a *Archive) Children(_ context.Context, parent archive.ID) ([]store.Folder, error) {
	if !a.hasFolder(parent) {
		return nil, nil
	}
	p := a.place(parent)
	if p.level == levels-1 {
		return nil, nil
	}
	return a.every(parent+1, a.end(p), sizes()[p.level+1]), nil
}

// Below returns all folders at any depth below parent.
func (a *Archive) Below(_ context.Context, parent archive.ID) ([]store.Folder, error) {
	if !a.hasFolder(parent) {
		return nil, nil
	}
	return a.every(parent+1, a.end(a.place(parent)), 1), nil
}

// every returns the folders from one id up to another, exclusive, in steps.
func (a *Archive) every(from, end archive.ID, step int) []store.Folder {
	if end <= from {
		return nil
	}
	folders := make([]store.Folder, 0, (int(end-from)+step-1)/step)
	for id := from; id < end; id += archive.ID(step) {
		folders = append(folders, a.folder(a.place(id)))
	}
	return folders
}

// Empty reports that there are folders.
func (a *Archive) Empty(context.Context) (bool, error) { return false, nil }

// Setting returns "false": clients may create folders neither in the archive nor in inboxes. There
// are no other settings.
func (a *Archive) Setting(context.Context, string) (string, error) { return "false", nil }

// Close does nothing.
func (a *Archive) Close() error { return nil }

// List calls each for the documents by ascending id. An unknown folder is KindNotFound,
// before each was called.
func (a *Archive) List(ctx context.Context, q store.Query, each func(store.Listed) error) error {
	if _, err := a.Folder(ctx, q.Folder); err != nil {
		return err
	}
	end := q.Folder + 1
	if q.Recursive {
		end = a.end(a.place(q.Folder))
	}
	for folder := q.Folder; folder < end; folder++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := a.place(folder)
		for id := a.first(folder); id < a.first(folder+1); id++ {
			d := a.listed(p, id)
			if d.Created.Before(q.From) {
				continue
			}
			if err := each(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// listed makes a document of the folder in p.
func (a *Archive) listed(p place, id archive.ID) store.Listed {
	chance := mix(uint64(id)) //nolint:gosec // ids are above zero
	year := firstYear + int(chance%(lastYear-firstYear+1))
	if p.level == levels-1 {
		year = firstYear + p.at[p.level]
	}
	about := &a.names.areas[chance>>8%areas]
	if p.level > 0 {
		about = &a.names.areas[p.at[1]]
	}
	created := time.Date(year, 1, 1+int(chance>>16%365), 8, 0, int(chance>>25%(9*3600)), 0, time.UTC)
	return store.Listed{
		ID: id, Folder: p.ids[p.level], Name: documentName(about, year, id), Created: created,
		Archived: created.Add(time.Duration(1+chance>>40%96) * time.Hour),
		Pages:    1, Size: sizeOf(chance), ContentType: inspect.PDF,
		Keywords: json.RawMessage(about.keywords), Metadata: json.RawMessage(`[]`),
	}
}

// documentName is for example "Rechnung 2019-004711.pdf".
func documentName(about *area, year int, id archive.ID) string {
	name := make([]byte, 0, 40)
	name = append(name, about.document...)
	name = append(name, ' ')
	name = strconv.AppendInt(name, int64(year), 10)
	name = append(name, '-')
	for n := id; n < 100_000; n *= 10 {
		name = append(name, '0')
	}
	name = strconv.AppendInt(name, int64(id), 10)
	return string(append(name, ".pdf"...))
}

// sizeOf makes a length from 4 KiB to 1 MiB. Each power of two is equally likely.
func sizeOf(chance uint64) int64 {
	least := int64(4096) << (chance >> 48 % 8)
	return least + int64(chance>>52)%least
}

// Document returns one document, KindNotFound when there is none.
func (a *Archive) Document(_ context.Context, id archive.ID) (store.Document, error) {
	folder := a.folderOf(id)
	if folder == 0 {
		return store.Document{}, refuse(archive.KindNotFound, "there is no document %d", id)
	}
	l := a.listed(a.place(folder), id)
	d := store.Document{
		ID: id, Folder: folder, Name: l.Name, Created: l.Created, Archived: l.Archived, Pages: l.Pages, Size: l.Size,
		ContentType: l.ContentType, Digest: a.digest(id),
	}
	if err := json.Unmarshal(l.Keywords, &d.Keywords); err != nil {
		return store.Document{}, fmt.Errorf("read keywords: %w", err)
	}
	return d, nil
}

// Annotations returns none.
func (a *Archive) Annotations(context.Context, archive.ID) ([]store.Note, []store.Stamp, error) {
	return nil, nil, nil
}

// History returns none.
func (a *Archive) History(context.Context, archive.ID, int) ([]store.Entry, error) { return nil, nil }

// UploadedWith returns none.
func (a *Archive) UploadedWith(ctx context.Context, id archive.ID) ([]archive.ID, error) {
	_, err := a.Document(ctx, id)
	return []archive.ID{}, err
}

// Contents returns the names and contents of the documents directly in a folder.
func (a *Archive) Contents(ctx context.Context, folder archive.ID) (contents []store.NamedContent, err error) {
	err = a.List(ctx, store.Query{Folder: folder}, func(d store.Listed) error {
		contents = append(contents, store.NamedContent{Name: d.Name, Digest: a.digest(d.ID), Size: d.Size})
		return nil
	})
	return contents, err
}

// mix turns a number into one that looks random (SplitMix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// fixed implements the methods that need stored data: changes are refused, and there is nothing to look
// up, drop or walk.
type fixed struct{}

// errFixed is the error of a change.
func errFixed() error {
	return refuse(archive.KindForbidden, "this archive is generated and cannot be changed")
}

func (fixed) Search(context.Context, store.Search) ([]archive.ID, error) {
	return nil, refuse(archive.KindUnsupported, "this archive is generated and cannot be searched")
}

func (fixed) AddFolder(context.Context, store.Folder) (archive.ID, error) { return 0, errFixed() }
func (fixed) AddDocuments(context.Context, []store.Document, bool) ([]archive.ID, error) {
	return nil, errFixed()
}

func (fixed) AddBatch(context.Context, []store.Folder, []store.Document) ([]archive.ID, error) {
	return nil, errFixed()
}

func (fixed) ArchiveDocument(context.Context, archive.ID, store.Target) (archive.ID, error) {
	return 0, errFixed()
}
func (fixed) Alter(context.Context, archive.ID, store.Alteration) error { return errFixed() }
func (fixed) ReplaceContent(context.Context, archive.ID, store.Content) (string, error) {
	return "", errFixed()
}

func (fixed) DeleteDocument(context.Context, archive.ID) (string, error) { return "", errFixed() }

func (fixed) SetSetting(context.Context, string, string) error { return errFixed() }

func (fixed) FirstSetting(context.Context, string, string) (string, error) { return "", errFixed() }

func (fixed) Keep(context.Context, store.Keeping) error { return errFixed() }

func (fixed) Rendition(context.Context, string, string) (string, error) { return "", nil }

func (fixed) AddRendition(context.Context, string, string, string) error { return errFixed() }

func (fixed) Stage(context.Context, io.Reader) (blob.Staged, error) { return nil, errFixed() }

func (fixed) Publish(context.Context, ...blob.Staged) error                           { return errFixed() }
func (fixed) Drop(context.Context, string, func(context.Context, string) error) error { return nil }
func (fixed) Remove(context.Context, string) error                                    { return nil }
func (fixed) Has(context.Context, ...string) (bool, error)                            { return true, nil }
func (fixed) Walk(context.Context, time.Time, func(string) error) error               { return nil }
