package generated_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/generated"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/store"
)

func TestParseShape(t *testing.T) {
	for text, want := range map[string]generated.Shape{
		"100000x10": {Folders: 100_000, Documents: 10}, "1x0": {Folders: 1},
	} {
		if got, err := generated.ParseShape(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "10", "10x", "x10", "0x10", "-1x1", "1x-1", "10000001x1", "1x1000001", "1x1x1", "1 x 1"} {
		if got, err := generated.ParseShape(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// shapes end within a year, a partner, an area and a mandator; one fills a mandator.
func shapes() []generated.Shape {
	return []generated.Shape{{Folders: 1, Documents: 2}, {Folders: 2}, {Folders: 9, Documents: 1}, {Folders: 700, Documents: 3}, {Folders: 10_001, Documents: 1}, {Folders: 10_002, Documents: 1}}
}

// All ways to find folders agree.
func TestFolders(t *testing.T) {
	for _, shape := range shapes() {
		t.Run(shape.String(), func(t *testing.T) {
			ctx, a := t.Context(), generated.New(shape)
			tree, err := a.Tree(ctx, false)
			if err != nil || len(tree) != shape.Folders {
				t.Fatalf("%d folders, %v", len(tree), err)
			}
			below := map[archive.ID][]store.Folder{}
			for i, f := range tree {
				if f.ID != archive.ID(i+1) || f.Parent >= f.ID || f.Name == "" {
					t.Fatalf("folder %d is %+v", i+1, f)
				}
				below[f.Parent] = append(below[f.Parent], f)
			}
			roots, err := a.Roots(ctx, false)
			if err != nil || !slices.Equal(roots, below[0]) {
				t.Errorf("the mandators are %+v, %v", roots, err)
			}
			for _, f := range tree {
				wantFolder(t, a, tree, below, f)
			}
			for _, id := range []archive.ID{-1, 0, archive.ID(shape.Folders) + 1} {
				if _, err := a.Folder(ctx, id); archive.KindOf(err) != archive.KindNotFound {
					t.Errorf("folder %d: %v", id, err)
				}
			}
		})
	}
}

// wantFolder checks all data of a folder against the list of all folders.
func wantFolder(t *testing.T, a *generated.Archive, tree []store.Folder, below map[archive.ID][]store.Folder, f store.Folder) {
	t.Helper()
	ctx := t.Context()
	same, err1 := a.Folder(ctx, f.ID)
	child, err2 := a.Child(ctx, f.Parent, f.Name) // fails where siblings have the same name
	children, err3 := a.Children(ctx, f.ID)
	lineage, err4 := a.Lineage(ctx, f.ID)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if same != f || child != f || !slices.Equal(children, below[f.ID]) {
		t.Fatalf("%+v is %+v by id, %+v by name and has %+v, want %+v", f, same, child, children, below[f.ID])
	}
	for i, above := range lineage {
		if above != tree[above.ID-1] || i > 0 && above.Parent != lineage[i-1].ID {
			t.Fatalf("the lineage of %+v is %+v", f, lineage)
		}
	}
	if lineage[len(lineage)-1] != f || lineage[0].Parent != 0 {
		t.Fatalf("the lineage of %+v is %+v", f, lineage)
	}
	deep, err := a.Below(ctx, f.ID)
	n := 0
	for _, c := range children {
		under, err := a.Below(ctx, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		n += 1 + len(under)
	}
	if err != nil || len(deep) != n {
		t.Fatalf("%d folders below %+v, want %d, %v", len(deep), f, n, err)
	}
}

func list(t *testing.T, a *generated.Archive, q store.Query) (found []store.Listed) {
	t.Helper()
	if err := a.List(t.Context(), q, func(d store.Listed) error { found = append(found, d); return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDocuments(t *testing.T) {
	for _, shape := range shapes() {
		t.Run(shape.String(), func(t *testing.T) {
			ctx, a := t.Context(), generated.New(shape)
			roots, err := a.Roots(ctx, false)
			if err != nil {
				t.Fatal(err)
			}
			var all []store.Listed
			for _, r := range roots {
				all = append(all, list(t, a, store.Query{Folder: r.ID, Recursive: true})...)
			}
			names := map[string]bool{}
			for i, d := range all {
				names[fmt.Sprint(d.Folder, "/", d.Name)] = true
				same, err := a.Document(ctx, d.ID)
				if err != nil || d.ID != archive.ID(i+1) || same.Name != d.Name || same.Size != d.Size || same.Folder != d.Folder ||
					!same.Created.Equal(d.Created) || !d.Archived.After(d.Created) {
					t.Fatalf("document %d is %+v and %+v, %v", i+1, d, same, err)
				}
			}
			if want := shape.Folders * shape.Documents; len(all) != want || len(names) != want {
				t.Errorf("%d documents with %d names, want %d", len(all), len(names), want)
			}
			for _, id := range []archive.ID{-1, 0, archive.ID(len(all)) + 1} {
				if _, err := a.Document(ctx, id); archive.KindOf(err) != archive.KindNotFound {
					t.Errorf("document %d: %v", id, err)
				}
			}
		})
	}
}

func TestListsAreChosen(t *testing.T) {
	a := generated.New(generated.Shape{Folders: 700, Documents: 3})
	alone, all := list(t, a, store.Query{Folder: 3}), list(t, a, store.Query{Folder: 3, Recursive: true})
	if len(alone) != 3 || len(all) != 13*3 || alone[0].ID != 7 {
		t.Errorf("%d documents and %d with those below, from %d on", len(alone), len(all), alone[0].ID)
	}
	from := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	all = slices.DeleteFunc(all, func(d store.Listed) bool { return d.Created.Before(from) })
	byID := func(a, b store.Listed) int { return cmp.Compare(a.ID, b.ID) }
	if late := list(t, a, store.Query{Folder: 3, Recursive: true, From: from}); len(late) == 0 || slices.CompareFunc(late, all, byID) != 0 {
		t.Errorf("%d documents from 2020 on, want %d", len(late), len(all))
	}
	err := a.List(t.Context(), store.Query{Folder: 701}, func(store.Listed) error { return errors.New("called") })
	if archive.KindOf(err) != archive.KindNotFound {
		t.Errorf("an unknown folder: %v", err)
	}
}

// Contents are PDFs of the listed length. Reading them again, or in parts, gives the same bytes.
func TestContents(t *testing.T) {
	a := generated.New(generated.Shape{Folders: 50, Documents: 2})
	seen := map[string]bool{}
	for id := archive.ID(1); id <= 100; id++ {
		d, err := a.Document(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.OpenPart(t.Context(), d.Digest, blob.Whole)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || int64(len(content)) != d.Size {
			t.Fatalf("document %d has %d bytes, want %d, %v", id, len(content), d.Size, err)
		}
		if got := inspect.Content(bytes.NewReader(content), d.Size, inspect.Hint{}); got.ContentType != d.ContentType || got.Pages != d.Pages {
			t.Errorf("document %d is %+v", id, got)
		}
		if !bytes.Contains(content, []byte(d.Name)) || seen[string(content)] {
			t.Errorf("document %d looks like another", id)
		}
		seen[string(content)] = true
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if id%20 == 1 && d.Size < 100_000 {
			if err := iotest.TestReader(r, content); err != nil {
				t.Errorf("document %d: %v", id, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	other, err := generated.New(generated.Shape{Folders: 51, Documents: 2}).Document(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{"", "x", strings.Repeat("0", 64), strings.Repeat("f", 64), other.Digest} {
		if _, err := a.OpenPart(t.Context(), digest, blob.Whole); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("content %q: %v", digest, err)
		}
	}
}
