package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/params"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
)

func archivingRoutes() []route {
	return []route{
		{http.MethodPost, "/document/{id}/archive", ofID(documentArchive), specified},
		{http.MethodPost, "/document/auto_export_status/set", autoExportStatusSet, specified},
	}
}

// documentArchive answers POST /document/{id}/archive (specification, endpoint 6): an
// inbox document becomes a new document in an archive folder.
func documentArchive(w *response, r *request, id archive.ID) error {
	p, err := form(w, r)
	if err != nil {
		return err
	}
	ctx := r.detached()
	d, err := r.catalog.Document(ctx, id)
	if err != nil {
		return refusal.Blame("id", err)
	}
	to, name, keywords := requiredTarget(p), p.DocumentName(fieldName, d.Name), p.List("keywords")
	if err := p.Err(); err != nil {
		return err
	}
	folder, err := to.resolve(ctx, r.catalog)
	if err != nil {
		return err
	}
	if folder.Inbox {
		return refusal.Invalid(fieldFolderID, "folder %d lies in an inbox", folder.ID)
	}
	_, err = r.catalog.ArchiveDocument(ctx, id, store.Target{Folder: folder.ID, Name: name, Keywords: keywords, At: time.Now()})
	return w.done("id", err)
}

// autoExportStatusSet answers POST /document/auto_export_status/set (specification, endpoint 7).
func autoExportStatusSet(w *response, r *request) error {
	p, err := form(w, r)
	if err != nil {
		return err
	}
	id, on := p.RequiredID("document-id"), p.RequiredFlag("autoexport-status")
	if err := p.Err(); err != nil {
		return err
	}
	return w.done("document-id", r.catalog.Alter(r.detached(), id, store.SetAutoExport(on)))
}

// The form fields of the target folder and name (specification, endpoints 3 and 6).
const (
	fieldFolderID   = "target-folder-id"
	fieldFolderPath = "target-folder-path"
	fieldMandator   = "target-mandator-name"
	fieldName       = "target-document-name"
)

// target is the target folder as a client names it.
type target struct {
	id       archive.ID
	byID     bool
	path     string
	mandator string
}

// targetOf reads the fields of the target folder; all of them may be absent.
func targetOf(p *params.Params) target {
	return target{id: p.ID(fieldFolderID), byID: p.Has(fieldFolderID), path: p.Text(fieldFolderPath), mandator: p.Text(fieldMandator)}
}

// requiredTarget is targetOf, but an id or a path must be there.
func requiredTarget(p *params.Params) target {
	t := targetOf(p)
	if !t.byID && t.path == "" {
		p.Refuse(fieldFolderID, "either "+fieldFolderID+" or "+fieldFolderPath+" is required")
	}
	return t
}

// destination returns the folder of an upload, for which only the file is required (specification, endpoint 3): the
// target, or the mandator if only that is named, or without any of them the user's input tray.
func (t target) destination(ctx context.Context, c catalog.Folders, who identity) (store.Folder, error) {
	if t == (target{}) {
		return inputTray(ctx, c, who)
	}
	return t.resolve(ctx, c)
}

// inputTray returns the inbox of the user, else the one with the user's name, else the first one.
func inputTray(ctx context.Context, c catalog.Folders, who identity) (store.Folder, error) {
	inboxes, err := c.Roots(ctx, true)
	if err != nil {
		return store.Folder{}, err
	}
	if len(inboxes) == 0 {
		return store.Folder{}, refusal.Invalid(fieldFolderID, "required: there is no inbox for an upload without a target")
	}
	own := slices.IndexFunc(inboxes, func(f store.Folder) bool { return who.userID != 0 && f.UserID == who.userID })
	if own < 0 {
		own = slices.IndexFunc(inboxes, func(f store.Folder) bool { return f.Name == who.user })
	}
	return inboxes[max(own, 0)], nil
}

// resolve returns the target folder. If an id and a path are given they must name the same folder,
// which must belong to a mandator that is given.
func (t target) resolve(ctx context.Context, c catalog.Folders) (store.Folder, error) {
	if !t.byID {
		return t.resolvePath(ctx, c)
	}
	folder, err := c.Folder(ctx, t.id)
	if err != nil {
		return store.Folder{}, refusal.Blame(fieldFolderID, err)
	}
	if t.path != "" {
		same, err := t.resolvePath(ctx, c)
		if err != nil {
			return store.Folder{}, err
		}
		if same.ID != folder.ID {
			return store.Folder{}, refusal.Invalid(fieldFolderPath, "names folder %d, not folder %d as %s does", same.ID, folder.ID, fieldFolderID)
		}
	}
	if t.mandator == "" {
		return folder, nil
	}
	lineage, err := c.Lineage(ctx, folder.ID)
	if err != nil {
		return store.Folder{}, err
	}
	if folder.Inbox || lineage[0].Name != t.mandator {
		return store.Folder{}, refusal.Invalid(fieldMandator, "folder %d does not belong to this mandator", folder.ID)
	}
	return folder, nil
}

// resolvePath walks a path from its mandator. If a mandator is given the path is below it; a first
// component that repeats the mandator's name is skipped unless a folder has that name.
func (t target) resolvePath(ctx context.Context, c catalog.Folders) (store.Folder, error) {
	names := components(t.path)
	if t.mandator == "" {
		if len(names) == 0 {
			return store.Folder{}, refusal.Invalid(fieldFolderPath, "a path starts with the name of a mandator")
		}
		folder, err := walk(ctx, c, store.Folder{}, names)
		return folder, refusal.Blame(fieldFolderPath, err)
	}
	mandator, err := c.Child(ctx, 0, t.mandator)
	if err != nil {
		return store.Folder{}, refusal.Blame(fieldMandator, err)
	}
	folder, err := walk(ctx, c, mandator, names)
	if archive.KindOf(err) == archive.KindNotFound && len(names) > 0 && names[0] == t.mandator {
		folder, err = walk(ctx, c, mandator, names[1:])
	}
	return folder, refusal.Blame(fieldFolderPath, err)
}

// walk follows names down. The zero folder is above the mandators.
func walk(ctx context.Context, c catalog.Folders, from store.Folder, names []string) (store.Folder, error) {
	for _, name := range names {
		below, err := c.Child(ctx, from.ID, name)
		if err != nil {
			return store.Folder{}, err
		}
		from = below
	}
	return from, nil
}

// components splits a path. It ignores empty components.
func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}
