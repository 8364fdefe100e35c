package server

import (
	"context"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// AddFolder adds no mandator and no inbox: those are not for who sees but some.
func (c *confined) AddFolder(ctx context.Context, f store.Folder) (archive.ID, error) {
	if f.Parent == 0 {
		return 0, beyond()
	}
	if err := c.inside(ctx, f.Parent); err != nil {
		return 0, err
	}
	return c.whole.AddFolder(ctx, f)
}

func beyond() error {
	return deny(noMandator, archive.KindForbidden, "the API key is for some mandators alone")
}

func (c *confined) AddDocuments(ctx context.Context, documents []store.Document, reuse bool) ([]archive.ID, error) {
	for _, d := range documents {
		if err := c.inside(ctx, d.Folder); err != nil {
			return nil, err
		}
	}
	return c.whole.AddDocuments(ctx, documents, reuse)
}

// AddBatch is for an import, which nobody makes with a key.
func (c *confined) AddBatch(context.Context, []store.Folder, []store.Document) ([]archive.ID, error) {
	return nil, beyond()
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

func (c *confined) SetAutoExport(ctx context.Context, id archive.ID, on bool) error {
	if err := c.reaches(ctx, id); err != nil {
		return err
	}
	return c.whole.SetAutoExport(ctx, id, on)
}

func (c *confined) SetName(ctx context.Context, id archive.ID, name string) error {
	if err := c.reaches(ctx, id); err != nil {
		return err
	}
	return c.whole.SetName(ctx, id, name)
}

func (c *confined) SetKeywords(ctx context.Context, id archive.ID, keywords []string) error {
	if err := c.reaches(ctx, id); err != nil {
		return err
	}
	return c.whole.SetKeywords(ctx, id, keywords)
}

func (c *confined) SetMetadata(ctx context.Context, id archive.ID, change map[string]*string) error {
	if err := c.reaches(ctx, id); err != nil {
		return err
	}
	return c.whole.SetMetadata(ctx, id, change)
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

func (c *confined) SetSetting(context.Context, string, string) error { return beyond() }

func (c *confined) FirstSetting(context.Context, string, string) (string, error) {
	return "", beyond()
}
