package generated

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/store"
)

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

// sizeOf makes a length from 4 KiB to 1 MiB, of which the small ones are as frequent as
// the large ones.
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

// mix makes a number that looks random of another one (SplitMix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
