// Package catalog declares what handlers may do with the archive of one tenant, and confines it to the
// mandators of a key.
package catalog

import (
	"cmp"
	"context"
	"slices"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Catalog is the archive of one tenant. Archives of other tenants do not exist for it. Errors that a
// client can act on carry a kind.
type Catalog interface {
	Folders
	Documents
	Changes
	// In returns the same for what belongs to a scope.
	In(in store.Scope) Catalog
}

// Whole is all that a tenant has.
type Whole struct{ store.Archive }

// In implements Catalog.
func (w Whole) In(in store.Scope) Catalog { return Whole{w.Archive.In(in)} }

// Folders are the archive's folders and those of the inboxes, by ascending id.
type Folders interface {
	AddFolder(ctx context.Context, f store.Folder) (archive.ID, error)
	Folder(ctx context.Context, id archive.ID) (store.Folder, error)
	Child(ctx context.Context, parent archive.ID, name string) (store.Folder, error)
	Lineage(ctx context.Context, id archive.ID) ([]store.Folder, error)
	Roots(ctx context.Context, inboxes bool) ([]store.Folder, error)
	Tree(ctx context.Context, inboxes bool) ([]store.Folder, error)
	Children(ctx context.Context, parent archive.ID) ([]store.Folder, error)
	Below(ctx context.Context, parent archive.ID) ([]store.Folder, error)
}

// Documents reads documents.
type Documents interface {
	Document(ctx context.Context, id archive.ID) (store.Document, error)
	Annotations(ctx context.Context, id archive.ID) ([]store.Note, []store.Stamp, error)
	UploadedWith(ctx context.Context, id archive.ID) ([]archive.ID, error)
	History(ctx context.Context, id archive.ID, limit int) ([]store.Entry, error)
	List(ctx context.Context, q store.Query, each func(store.Listed) error) error
	Version(ctx context.Context) store.Version
	Search(ctx context.Context, q store.Search) ([]archive.ID, error)
}

// Changes changes documents, each method in one transaction.
type Changes interface {
	AddDocuments(ctx context.Context, documents []store.Document, reuse bool) ([]archive.ID, error)
	ArchiveDocument(ctx context.Context, id archive.ID, target store.Target) (archive.ID, error)
	Alter(ctx context.Context, id archive.ID, how store.Alteration) error
	ReplaceContent(ctx context.Context, id archive.ID, content store.Content) (old string, err error)
	DeleteDocument(ctx context.Context, id archive.ID) (digest string, err error)
}

// confined is a part of a tenant's archive: some mandators, and the inboxes of one user. Everything
// else is reported as not found. Folders and documents never move from one mandator to another, so a
// check before a change still holds during it.
//
// It embeds no catalog: a new method of Catalog must say here what it shows.
type confined struct {
	whole     Catalog
	mandators []archive.ID
	user      int64 // 0: no inboxes
}

// Confine limits an archive to some mandators and the inboxes of one user; user 0 has none.
func Confine(whole Catalog, mandators []archive.ID, user int64) Catalog {
	return &confined{whole: whole, mandators: mandators, user: user}
}

func (c *confined) In(in store.Scope) Catalog { return Confine(c.whole.In(in), c.mandators, c.user) }

// sees reports whether a mandator or an inbox is visible.
func (c *confined) sees(root store.Folder) bool {
	if root.Inbox {
		return c.user != 0 && root.UserID == c.user
	}
	return slices.Contains(c.mandators, root.ID)
}

// inside returns an error unless a folder is visible.
func (c *confined) inside(ctx context.Context, id archive.ID) error {
	_, err := c.Lineage(ctx, id)
	return err
}

// reaches returns an error unless a document is visible.
func (c *confined) reaches(ctx context.Context, id archive.ID) error {
	_, err := c.Document(ctx, id)
	return err
}

// Absent reports whether an error says that something was not found.
func Absent(err error) bool { return archive.KindOf(err) == archive.KindNotFound }

func (c *confined) Folder(ctx context.Context, id archive.ID) (store.Folder, error) {
	if err := c.inside(ctx, id); err != nil {
		return store.Folder{}, err
	}
	return c.whole.Folder(ctx, id)
}

func (c *confined) Child(ctx context.Context, parent archive.ID, name string) (store.Folder, error) {
	f, err := c.whole.Child(ctx, parent, name)
	if err == nil {
		err = c.inside(ctx, f.ID)
	}
	if Absent(err) {
		return store.Folder{}, refusal.Nothing(err, "there is no folder %q", name)
	}
	return f, err
}

func (c *confined) Lineage(ctx context.Context, id archive.ID) ([]store.Folder, error) {
	lineage, err := c.whole.Lineage(ctx, id)
	if err == nil && !c.sees(lineage[0]) {
		return nil, refusal.Elsewhere("there is no folder %d", id)
	}
	return lineage, err
}

func (c *confined) Roots(ctx context.Context, inboxes bool) ([]store.Folder, error) {
	roots, err := c.whole.Roots(ctx, inboxes)
	return slices.DeleteFunc(roots, func(f store.Folder) bool { return !c.sees(f) }), err
}

func (c *confined) Tree(ctx context.Context, inboxes bool) ([]store.Folder, error) {
	tree, err := c.Roots(ctx, inboxes)
	if err != nil {
		return nil, err
	}
	for _, root := range slices.Clone(tree) {
		below, err := c.whole.Below(ctx, root.ID)
		if err != nil {
			return nil, err
		}
		tree = append(tree, below...)
	}
	slices.SortFunc(tree, func(a, b store.Folder) int { return cmp.Compare(a.ID, b.ID) })
	return tree, nil
}

func (c *confined) Children(ctx context.Context, parent archive.ID) ([]store.Folder, error) {
	if err := c.inside(ctx, parent); err != nil {
		return nil, err
	}
	return c.whole.Children(ctx, parent)
}

func (c *confined) Below(ctx context.Context, parent archive.ID) ([]store.Folder, error) {
	if err := c.inside(ctx, parent); err != nil {
		return nil, err
	}
	return c.whole.Below(ctx, parent)
}

func (c *confined) Document(ctx context.Context, id archive.ID) (store.Document, error) {
	d, err := c.whole.Document(ctx, id)
	if err == nil {
		err = c.inside(ctx, d.Folder)
	}
	if Absent(err) {
		return store.Document{}, refusal.Nothing(err, "there is no document %d", id)
	}
	return d, err
}

func (c *confined) Annotations(ctx context.Context, id archive.ID) ([]store.Note, []store.Stamp, error) {
	if err := c.reaches(ctx, id); err != nil {
		return nil, nil, err
	}
	return c.whole.Annotations(ctx, id)
}

func (c *confined) UploadedWith(ctx context.Context, id archive.ID) ([]archive.ID, error) {
	if err := c.reaches(ctx, id); err != nil {
		return nil, err
	}
	ids, err := c.whole.UploadedWith(ctx, id)
	if err != nil {
		return nil, err
	}
	seen := []archive.ID{}
	for _, other := range ids { // they may have been archived elsewhere
		if err := c.reaches(ctx, other); err == nil {
			seen = append(seen, other)
		} else if !Absent(err) {
			return nil, err
		}
	}
	return seen, nil
}

func (c *confined) History(ctx context.Context, id archive.ID, limit int) ([]store.Entry, error) {
	if err := c.reaches(ctx, id); err != nil {
		return nil, err
	}
	return c.whole.History(ctx, id, limit)
}

func (c *confined) List(ctx context.Context, q store.Query, each func(store.Listed) error) error {
	if err := c.inside(ctx, q.Folder); err != nil {
		return err
	}
	return c.whole.List(ctx, q, each)
}

// Version tells nothing of what the archive holds.
func (c *confined) Version(ctx context.Context) store.Version { return c.whole.Version(ctx) }

// Search searches the requested folder, or else everything below the visible roots.
func (c *confined) Search(ctx context.Context, q store.Search) ([]archive.ID, error) {
	if q.Folder != 0 {
		if err := c.inside(ctx, q.Folder); err != nil {
			return nil, err
		}
		return c.whole.Search(ctx, q)
	}
	q.Confined = true
	for _, inboxes := range []bool{false, true} {
		roots, err := c.Roots(ctx, inboxes)
		if err != nil {
			return nil, err
		}
		for _, root := range roots {
			q.Roots = append(q.Roots, root.ID)
		}
	}
	return c.whole.Search(ctx, q)
}

// AddFolder refuses to add a mandator or an inbox.
func (c *confined) AddFolder(ctx context.Context, f store.Folder) (archive.ID, error) {
	if f.Parent == 0 {
		return 0, refusal.Deny(refusal.NoMandator, archive.KindForbidden, "the API key is limited to some mandators")
	}
	if err := c.inside(ctx, f.Parent); err != nil {
		return 0, err
	}
	return c.whole.AddFolder(ctx, f)
}

func (c *confined) AddDocuments(ctx context.Context, documents []store.Document, reuse bool) ([]archive.ID, error) {
	for _, d := range documents {
		if err := c.inside(ctx, d.Folder); err != nil {
			return nil, err
		}
	}
	return c.whole.AddDocuments(ctx, documents, reuse)
}

func (c *confined) ArchiveDocument(ctx context.Context, id archive.ID, target store.Target) (archive.ID, error) {
	if err := c.inside(ctx, target.Folder); err != nil {
		return 0, err
	}
	if err := c.reaches(ctx, id); err != nil {
		return 0, err
	}
	return c.whole.ArchiveDocument(ctx, id, target)
}

func (c *confined) Alter(ctx context.Context, id archive.ID, how store.Alteration) error {
	if err := c.reaches(ctx, id); err != nil {
		return err
	}
	return c.whole.Alter(ctx, id, how)
}

func (c *confined) ReplaceContent(ctx context.Context, id archive.ID, content store.Content) (string, error) {
	if err := c.reaches(ctx, id); err != nil {
		return "", err
	}
	return c.whole.ReplaceContent(ctx, id, content)
}

func (c *confined) DeleteDocument(ctx context.Context, id archive.ID) (string, error) {
	if err := c.reaches(ctx, id); err != nil {
		return "", err
	}
	return c.whole.DeleteDocument(ctx, id)
}
