package care_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"image"
	"image/png"
	"io"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/care"
	"github.com/archivefs/archivefs/internal/testing/pdftest"
)

func sum(content string) [sha256.Size]byte { return sha256.Sum256([]byte(content)) }

func TestAWholeArchive(t *testing.T) {
	o := newOffice(t)
	for _, fast := range []bool{false, true} {
		result, text := verify(t, o.dir, care.Verification{Fast: fast})
		wantFindings(t, text, result, 0)
		if want := int64(len("the same") + 11*100_000 + len("a scan")); result.Documents != 4 || result.Contents != 3 || result.Bytes != want {
			t.Errorf("fast %v: %+v, want 4 documents with 3 contents of %d bytes", fast, result, want)
		}
	}
}

func TestWhatIsWrongWithContents(t *testing.T) {
	flipped := func(o *office) {
		content, err := os.ReadFile(o.path(o.digests["c"]))
		if err == nil {
			content[500_000] ^= 1
			err = os.WriteFile(o.path(o.digests["c"]), content, 0o600)
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		damage func(o *office)
		fast   int // findings of a fast verification
		parts  []string
	}{
		{"a flipped byte", flipped, 0, []string{
			"damaged: content " + digestOf(strings.Repeat("a large one", 100_000)), "its 1100000 bytes have another SHA-256",
			"document 3: Muster GmbH/Rechnungen/c",
		}},
		{"a missing content", func(o *office) { _ = os.Remove(o.path(o.digests["a"])) }, 1, []string{
			"missing: content " + digestOf("the same") + ": it is not kept\n  document 1: Muster GmbH/Rechnungen/a\n  document 2: Muster GmbH/Rechnungen/b",
		}},
		{"one that was cut off", func(o *office) { _ = os.Truncate(o.path(o.digests["scan"]), 2) }, 1, []string{
			digestOf("a scan"), "document 4: Inbox/scan",
		}},
		{"a wrong size", func(o *office) { o.spoil("UPDATE document SET size = 9 WHERE name = 'b'") }, 1, []string{
			"size: content " + digestOf("the same") + ": it has 8 bytes, and documents say 8 to 9", "document 2",
		}},
		{"an orphan", func(o *office) { o.orphan("nobody's", time.Hour) }, 1, []string{
			"orphan: content " + digestOf("nobody's") + ": nothing refers to it; 8 bytes",
		}},
		{"a young orphan", func(o *office) { o.orphan("nobody's", time.Second) }, 0, nil},
		{"a missing rendition", func(o *office) {
			o.spoil("INSERT INTO rendition VALUES ('" + o.digests["c"] + "', 'v', '" + digestOf("its PDF") + "')")
		}, 1, []string{"missing: content " + digestOf("its PDF"), "document 3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := newOffice(t)
			tt.damage(o)
			for fast, want := range map[bool]int{true: tt.fast, false: min(1, len(tt.parts))} {
				result, text := verify(t, o.dir, care.Verification{Fast: fast, Grace: time.Minute})
				if fast {
					wantFindings(t, text, result, want)
				} else {
					wantFindings(t, text, result, want, tt.parts...)
				}
			}
		})
	}
}

func TestRowsThatBreakRules(t *testing.T) {
	tests := []struct{ statement, rule string }{
		{"UPDATE folder SET parent = 99 WHERE id = 2", "folder 2: the folder's parent is missing"},
		{"UPDATE folder SET parent = 2 WHERE id = 1", "folder 1: the folder lies in a loop"},
		{"UPDATE folder SET inbox = 1 WHERE id = 2; UPDATE document SET archived = NULL WHERE folder = 2", "folder 2: of the folder and its parent one is of an inbox"},
		{"UPDATE folder SET name = 'a/b' WHERE id = 2", "folder 2: the folder has no name, or one with a slash"},
		{"UPDATE folder SET tenant = 7 WHERE id = 3; UPDATE document SET tenant = 7 WHERE folder = 3", "folder 3: the folder's tenant is missing"},
		{"UPDATE document SET folder = 99 WHERE id = 1", "folder 99: document 1: the document's folder is missing"},
		{"INSERT INTO tenant DEFAULT VALUES; UPDATE document SET tenant = 2 WHERE id = 1", "document 1: the document and its folder are of different tenants"},
		{"UPDATE document SET archived = 1 WHERE name = 'scan'", "document 4: the document lies in an inbox and has an archiving date"},
		{"UPDATE document SET archived = NULL WHERE name = 'a'", "document 1: the document is archived and has no archiving date"},
		{"UPDATE document SET pages = -1 WHERE name = 'a'", "document 1: the document has a negative size or number of pages"},
		{"INSERT INTO annotation VALUES (1, 99, 1, 'note', '', '', '', '', '', '', 0)", "document 99: the note or stamp belongs to no document"},
		{"INSERT INTO rendition SELECT '" + digestOf("gone") + "', 'v', digest FROM document LIMIT 1", "content " + digestOf("gone") + ": the rendition was made of a content that no document holds"},
		{"DELETE FROM document WHERE name = 'c'", "content " + digestOf(strings.Repeat("a large one", 100_000)) + ": the search keeps the text of a content that no document holds"},
		{"DELETE FROM content WHERE size = 8", "document 1: content " + digestOf("the same") + ": the search does not know of the document's content"},
		{"UPDATE document SET keywords = '[' WHERE name = 'a'", "database: document 1: keywords, types or metadata are no JSON"},
	}
	whole := newOffice(t)
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			o := &office{t: t, dir: t.TempDir()}
			if err := os.CopyFS(o.dir, os.DirFS(whole.dir)); err != nil {
				t.Fatal(err)
			}
			o.spoil(tt.statement)
			_, text := verify(t, o.dir, care.Verification{Fast: true})
			if !strings.Contains(text, tt.rule) {
				t.Errorf("found:\n%s", text)
			}
		})
	}
}

func TestADamagedDatabase(t *testing.T) {
	o := newOffice(t)
	o.spoil("PRAGMA writable_schema = ON", // an index that lacks its rows
		"UPDATE sqlite_schema SET sql = replace(sql, '(folder, created)', '(folder, size)') WHERE name = 'document_folder'")
	result, text := verify(t, o.dir, care.Verification{})
	if result.Findings[care.Database] == 0 || !strings.Contains(text, "document_folder") {
		t.Errorf("found:\n%s", text)
	}
}

func TestOrphansAreRemoved(t *testing.T) {
	o := newOffice(t)
	digest := o.orphan("nobody's", 0)
	a, err := care.OpenData(t.Context(), o.dir)
	if err != nil {
		t.Fatal(err)
	}
	result, text := verifyArchive(t, a, care.Verification{RemoveOrphans: true})
	wantFindings(t, text, result, 0, "orphan: content "+digest+": nothing refers to it; 8 bytes; removed")
	if _, err := os.Stat(o.path(digest)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	result, text = verify(t, o.dir, care.Verification{})
	wantFindings(t, text, result, 0)
}

// readers are contents of a bucket: they are read one after the other.
type readers struct{ care.Contents }

func (r readers) Open(ctx context.Context, digest string) (io.ReadSeekCloser, error) {
	content, err := r.Contents.Open(ctx, digest)
	return struct{ io.ReadSeekCloser }{content}, err
}

func TestPagesAreCorrected(t *testing.T) {
	for name, content := range map[string]string{
		"PDF":  pdftest.Plain(0) + strings.Repeat("\x00", 20_000),
		"TIFF": "II*\x00\x08\x00\x00\x00" + "\x00\x00\x0e\x00\x00\x00" + "\x00\x00\x14\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00",
	} {
		for _, inBucket := range []bool{false, true} {
			o := newOffice(t)
			s, err := server.Open(t.Context(), server.Options{Data: o.dir})
			if err != nil {
				t.Fatal(err)
			}
			folder, err := s.AddMandator(t.Context(), "Neu")
			if err == nil {
				_, err = s.AddDocument(t.Context(), server.NewDocument{Folder: folder, Name: name, Created: day, Archived: day}, strings.NewReader(content))
			}
			if err = errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			looked := func(how care.Verification) (care.Verified, string) {
				a, err := care.ViewData(t.Context(), o.dir)
				if err != nil {
					t.Fatal(err)
				}
				if inBucket {
					a.Contents = readers{a.Contents}
				}
				return verifyArchive(t, a, how)
			}
			result, text := looked(care.Verification{})
			wantFindings(t, text, result, 0)
			o.spoil("UPDATE document SET pages = 1 WHERE name = '" + name + "'")
			found := "pages: content " + digestOf(content) + ": it has 3 pages, and documents say 1"
			if result, text := looked(care.Verification{}); !inBucket {
				wantFindings(t, text, result, 1, found, "document 5: Neu/"+name)
			}
			admin, err := server.OpenAdmin(t.Context(), server.Place{Data: o.dir})
			if err != nil {
				t.Fatal(err)
			}
			result, text = looked(care.Verification{SetPages: admin.SetPages})
			wantFindings(t, text, result, 0, found+"; corrected")
			result, text = looked(care.Verification{SetPages: admin.SetPages})
			wantFindings(t, text, result, 0)
			if result.Fixed != 0 {
				t.Errorf("%d corrected again", result.Fixed)
			}
			if err := admin.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// opened counts how often contents are opened.
type opened struct {
	care.Contents
	n *atomic.Int64
}

func (o opened) Open(ctx context.Context, digest string) (io.ReadSeekCloser, error) {
	o.n.Add(1)
	return o.Contents.Open(ctx, digest)
}

// A content that lacks its end is named, and is no defect: the archive has what it was sent. Each is opened once.
func TestContentsWithoutTheirEnd(t *testing.T) {
	o := newOffice(t)
	s, err := server.Open(t.Context(), server.Options{Data: o.dir})
	if err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 200, 200))); err != nil {
		t.Fatal(err)
	}
	pdf, heic := pdftest.Plain(0), "\x00\x00\x00\x10ftypheic\x00\x00\x00\x00\x00\x00\x00\x10meta12345678\x00\x00\x10\x00mdat"
	tiff := "II*\x00\x08\x00\x00\x00\x05\x00"
	halves := map[string]string{"pdf": pdf[:len(pdf)*2/3], "png": picture.String()[:picture.Len()/2], "heic": heic, "tiff": tiff}
	all := maps.Clone(halves)
	all["whole pdf"], all["whole png"] = pdf, picture.String()
	folder, err := s.AddMandator(t.Context(), "Neu")
	for name, content := range all {
		if err == nil {
			_, err = s.AddDocument(t.Context(), server.NewDocument{Folder: folder, Name: name, Created: day, Archived: day}, strings.NewReader(content))
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, fast := range []bool{false, true} {
		a, err := care.ViewData(t.Context(), o.dir)
		if err != nil {
			t.Fatal(err)
		}
		var n atomic.Int64
		a.Contents = opened{a.Contents, &n}
		result, text := verifyArchive(t, a, care.Verification{Fast: fast})
		if result.All() != 0 || !fast && result.Findings[care.Incomplete] != len(halves) || n.Load() != result.Contents {
			t.Errorf("fast %v: %+v, %d opened:\n%s", fast, result, n.Load(), text)
		}
		for name, content := range halves {
			found := "incomplete: content " + digestOf(content) + ": the end of the file is missing, as after a cancelled copy\n  document "
			if strings.Contains(text, found) == fast || strings.Contains(text, ": Neu/"+name) == fast {
				t.Errorf("fast %v, %s: found\n%s", fast, name, text)
			}
		}
	}
}

// What could not be read is named, and is no defect.
func TestTextsThatWereNotRead(t *testing.T) {
	o := newOffice(t)
	o.spoil("UPDATE content SET state = 'no engine', reason = 'tesseract-ocr-deu' WHERE digest = (SELECT digest FROM document WHERE name = 'a')",
		"UPDATE content SET state = 'unreadable', reason = 'it is encrypted' WHERE digest = (SELECT digest FROM document WHERE name = 'c')")
	result, text := verify(t, o.dir, care.Verification{})
	if result.All() != 0 || result.Findings[care.Unread] != 2 {
		t.Errorf("%+v", result)
	}
	for _, part := range []string{
		"unread: content " + o.digests["a"] + ": tesseract-ocr-deu is not installed\n  document 1: Muster GmbH/Rechnungen/a\n  document 2",
		"unread: content " + o.digests["c"] + ": it is encrypted\n  document 3",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nlacks %s", text, part)
		}
	}
}
