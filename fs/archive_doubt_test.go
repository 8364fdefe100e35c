package fs_test

import (
	"os"
	"testing"
	"time"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// The answer to a move is lost, and the document has left its inbox for another place: the move
// fails.
func TestMoveOfADocumentThatWentElsewhere(t *testing.T) {
	t.Parallel()
	for shape, cfg := range map[string]hostile.Config{
		"new id": {}, "same id": {ArchiveKeepsID: true}, "listed late": {Upload: hostile.UploadShape{VisibleAfter: 1}},
	} {
		for where, target := range map[string]func(*foreign) archive.ArchiveTarget{
			"another folder": func(f *foreign) archive.ArchiveTarget { return archive.ArchiveTarget{Folder: archive.ID(f.bills)} },
			"another name": func(f *foreign) archive.ArchiveTarget {
				return archive.ArchiveTarget{Folder: archive.ID(f.letters), Name: "dort.txt"}
			},
			"another folder and the name": func(f *foreign) archive.ArchiveTarget {
				return archive.ArchiveTarget{Folder: archive.ID(f.bills), Name: "hier.txt"}
			},
		} {
			t.Run(shape+"/"+where, func(t *testing.T) {
				t.Parallel()
				f := newForeign(t, cfg)
				id := f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
				m := f.mount(t, nil)
				names(t, m.path("inboxes", "Administrator"))
				names(t, m.path("Muster GmbH", "Briefe"))
				other := get(apiclient.New(apiclient.Config{BaseURL: f.url, Credentials: f.cred, Location: time.UTC}))(t)
				defer other.Close()
				must(t, other.Archive(t.Context(), archive.ID(id), target(f)))
				f.Fault(hostile.Fault{Method: "POST", Path: "/document/{id}/archive", Times: 1, Do: hostile.DropAfter()})
				err := os.Rename(m.path("inboxes", "Administrator", "scan.txt"), m.path("Muster GmbH", "Briefe", "hier.txt"))
				if n := f.named(f.letters, "hier.txt", "alt"); err == nil || n != 0 {
					t.Errorf("answered %v, and the folder has %d of it", err, n)
				}
			})
		}
	}
}

// A moved document that is listed late has arrived all the same.
func TestMoveThatIsListedLate(t *testing.T) {
	t.Parallel()
	for shape, keeps := range map[string]bool{"new id": false, "same id": true} {
		t.Run(shape, func(t *testing.T) {
			f := newForeign(t, hostile.Config{ArchiveKeepsID: keeps, Upload: hostile.UploadShape{VisibleAfter: 2}})
			f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
			m := f.mount(t, nil)
			m.tries(time.Minute)
			f.Fault(hostile.Fault{Method: "POST", Path: "/document/{id}/archive", Times: 1, Do: hostile.DropAfter()})
			must(t, os.Rename(m.path("inboxes", "Administrator", "scan.txt"), m.path("Muster GmbH", "Briefe", "hier.txt")))
			if n := f.named(f.letters, "hier.txt", "alt"); n != 1 {
				t.Errorf("the folder has %d of it", n)
			}
		})
	}
}
