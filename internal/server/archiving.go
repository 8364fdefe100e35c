package server

import (
	"time"

	"github.com/archivefs/archivefs/internal/server/store"
)

// documentArchive answers POST /document/{id}/archive (specification, endpoint 6): an
// inbox document becomes a new document in an archive folder.
func documentArchive(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	p, err := form(w, r)
	if err != nil {
		return err
	}
	ctx := r.detached()
	d, err := r.catalog.Document(ctx, id)
	if err != nil {
		return blame("id", err)
	}
	to, name, keywords := p.requiredTarget(), p.documentName(fieldName, d.Name), p.list("keywords")
	if err := p.err(); err != nil {
		return err
	}
	folder, err := to.resolve(ctx, r.catalog)
	if err != nil {
		return err
	}
	if folder.Inbox {
		return invalid(fieldFolderID, "folder %d lies in an inbox", folder.ID)
	}
	_, err = r.catalog.ArchiveDocument(ctx, id, store.Target{Folder: folder.ID, Name: name, Keywords: keywords, At: time.Now()})
	if err != nil {
		return blame("id", err)
	}
	w.empty()
	return nil
}

// autoExportStatusSet answers POST /document/auto_export_status/set (specification,
// endpoint 7).
func autoExportStatusSet(w *response, r *request) error {
	p, err := form(w, r)
	if err != nil {
		return err
	}
	id, on := p.requiredID("document-id"), p.requiredFlag("autoexport-status")
	if err := p.err(); err != nil {
		return err
	}
	ctx := r.detached()
	if err := r.catalog.SetAutoExport(ctx, id, on); err != nil {
		return blame("document-id", err)
	}
	w.empty()
	return nil
}
