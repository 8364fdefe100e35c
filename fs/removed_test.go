package fs_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
)

// A document that an administrator removed is gone once its listing is not trusted any more, its name is
// free, and a restored one is back. The mount itself removes nothing.
func TestARemovedDocumentIsGone(t *testing.T) {
	data := t.TempDir()
	o := newOffice(t, func(options *server.Options) { options.Data = data })
	id := o.put(t, o.bills, "Rechnung.txt", "eins")
	m := o.mount(t, func(options *fs.Options) { options.TTL = time.Millisecond })
	path := m.path("Muster GmbH", "Rechnungen", "Rechnung.txt")
	wantContent(t, path, "eins")
	wantErrno(t, "rm", os.Remove(path), syscall.EPERM)
	admin := get(server.OpenAdmin(t.Context(), server.Place{Data: data}))(t)
	defer func() { must(t, admin.Close()) }()
	ids := []archive.ID{id}
	must(t, admin.Remove(t.Context(), ids, "twice", server.Term{Days: 30}, false))
	heals(t, "the document is gone", func() bool {
		_, err := os.ReadFile(path)
		return os.IsNotExist(err)
	})
	wantNames(t, m.path("Muster GmbH", "Rechnungen"))
	must(t, os.WriteFile(path, []byte("zwei"), 0o600))
	wantContent(t, path, "zwei")
	must(t, admin.RestoreTrash(t.Context(), ids))
	heals(t, "the document is back", func() bool { return len(names(t, m.path("Muster GmbH", "Rechnungen"))) == 2 })
	must(t, admin.Remove(t.Context(), ids, "twice", server.Term{Days: 30}, false))
	must(t, admin.EmptyTrash(t.Context(), ids))
	heals(t, "the document is gone for good", func() bool { return len(names(t, m.path("Muster GmbH", "Rechnungen"))) == 1 })
	wantContent(t, path, "zwei")
}
