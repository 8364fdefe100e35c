package server_test

import (
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

func TestSeedingRefuses(t *testing.T) {
	t.Parallel()
	h := start(t)
	ctx := t.Context()
	if empty, err := h.Empty(ctx); err != nil || !empty {
		t.Fatalf("a new archive: empty %v, %v", empty, err)
	}
	o := furnish(t, h)
	if empty, err := h.Empty(ctx); err != nil || empty {
		t.Fatalf("a furnished archive: empty %v, %v", empty, err)
	}
	add := func(folder archive.ID, name string, archived bool) error {
		d := server.NewDocument{Folder: folder, Name: name, Created: day}
		if archived {
			d.Archived = day
		}
		_, err := h.AddDocument(ctx, d, strings.NewReader("x"))
		return err
	}
	discard := func(_ archive.ID, err error) error { return err }
	for name, test := range map[string]struct {
		err  error
		kind archive.Kind
	}{
		"a mandator twice":                {discard(h.AddMandator(ctx, "Other AG")), archive.KindConflict},
		"an inbox twice":                  {discard(h.AddInbox(ctx, 9, "Empty")), archive.KindConflict},
		"a folder twice":                  {discard(h.AddFolder(ctx, o.invoices, "2018")), archive.KindConflict},
		"a folder without a parent":       {discard(h.AddFolder(ctx, 0, "x")), archive.KindInvalid},
		"an unknown parent":               {discard(h.AddFolder(ctx, 999, "x")), archive.KindNotFound},
		"a mandator without a name":       {discard(h.AddMandator(ctx, "")), archive.KindInvalid},
		"a document in an unknown folder": {add(999, "x", true), archive.KindNotFound},
		"an archived one in an inbox":     {add(o.inbox, "x", true), archive.KindConflict},
		"a waiting one in a folder":       {add(o.year, "x", false), archive.KindConflict},
		"a document without a name":       {add(o.year, "", true), archive.KindInvalid},
	} {
		if got := archive.KindOf(test.err); test.err == nil || got != test.kind {
			t.Errorf("%s: %v, want %v", name, test.err, test.kind)
		}
	}
}
