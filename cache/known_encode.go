package cache

import (
	"encoding/binary"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Values are written one after the other: whole numbers as varints, a text or a list as
// its length and what it holds, a time as known_decode.go reads it.

func appendStructure(b []byte, s archive.Structure) []byte {
	b = appendBool(b, s.Free)
	b = binary.AppendUvarint(b, uint64(len(s.Folders)))
	for i := range s.Folders {
		b = binary.AppendVarint(b, int64(s.Folders[i].ID))
		b = appendText(b, s.Folders[i].Name)
	}
	return b
}

func appendInboxes(b []byte, all archive.Inboxes) []byte {
	b = appendBool(b, all.Free)
	b = binary.AppendUvarint(b, uint64(len(all.Inboxes)))
	for i := range all.Inboxes {
		b = binary.AppendVarint(b, all.Inboxes[i].UserID)
		b = appendFolder(b, &all.Inboxes[i].Folder)
	}
	return b
}

// appendFolder writes a folder with all that is below it.
func appendFolder(b []byte, f *archive.Folder) []byte {
	b = binary.AppendVarint(b, int64(f.ID))
	b = appendText(b, f.Name)
	b = appendBool(b, f.ChildrenKnown)
	b = binary.AppendUvarint(b, uint64(len(f.Children)))
	for i := range f.Children {
		b = appendFolder(b, &f.Children[i])
	}
	return b
}

func appendDocuments(b []byte, docs []archive.Document) []byte {
	b = binary.AppendUvarint(b, uint64(len(docs)))
	for i := range docs {
		b = appendDocument(b, &docs[i])
	}
	return b
}

func appendDocument(b []byte, d *archive.Document) []byte {
	b = binary.AppendVarint(b, int64(d.ID))
	b = appendText(b, d.Name)
	b = binary.AppendVarint(b, int64(d.Pages))
	b = appendTime(b, d.Created)
	b = appendTime(b, d.Archived)
	b = binary.AppendVarint(b, int64(d.Folder))
	b = binary.AppendUvarint(b, uint64(len(d.Keywords)))
	for _, k := range d.Keywords {
		b = appendText(b, k)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Metadata)))
	for _, m := range d.Metadata {
		b = appendText(appendText(b, m.Key), m.Value)
	}
	b = append(b, byte(d.AutoExport))
	b = binary.AppendVarint(b, d.Size)
	return appendText(b, d.ContentType)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendTime writes a 0 for the zero time, else a 1, the seconds since 1970, the
// nanoseconds of the second, and the seconds by which the zone is east of UTC.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	_, east := t.Zone()
	b = binary.AppendVarint(append(b, 1), t.Unix())
	b = binary.AppendUvarint(b, uint64(t.Nanosecond())) //nolint:gosec // 0 to 999999999
	return binary.AppendVarint(b, int64(east))
}
