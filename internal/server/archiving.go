package server

import (
	"context"
	"net/http"
	"time"

	"github.com/archivefs/archivefs/internal/server/store"
)

// documentArchive answers POST /document/{id}/archive (specification, endpoint 6): an
// inbox document becomes a new document in an archive folder.
func (s *Server) documentArchive(w *response, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	p, err := form(w, r)
	if err != nil {
		return err
	}
	ctx := detached(r)
	d, err := s.catalog(ctx).Document(ctx, id)
	if err != nil {
		return blame("id", err)
	}
	to, name, keywords := p.requiredTarget(), p.documentName(fieldName, d.Name), p.list("keywords")
	if err := p.err(); err != nil {
		return err
	}
	folder, err := s.resolve(ctx, to)
	if err != nil {
		return err
	}
	if folder.Inbox {
		return invalid(fieldFolderID, "folder %d lies in an inbox", folder.ID)
	}
	_, err = s.catalog(ctx).ArchiveDocument(ctx, id, store.Target{Folder: folder.ID, Name: name, Keywords: keywords, At: time.Now()})
	if err != nil {
		return blame("id", err)
	}
	w.empty()
	return nil
}

// autoExportStatusSet answers POST /document/auto_export_status/set (specification,
// endpoint 7).
func (s *Server) autoExportStatusSet(w *response, r *http.Request) error {
	p, err := form(w, r)
	if err != nil {
		return err
	}
	id, on := p.requiredID("document-id"), p.requiredFlag("autoexport-status")
	if err := p.err(); err != nil {
		return err
	}
	ctx := detached(r)
	if err := s.catalog(ctx).SetAutoExport(ctx, id, on); err != nil {
		return blame("document-id", err)
	}
	w.empty()
	return nil
}

// documentDelete answers POST /document/{id}/delete: inbox documents only.
func (s *Server) documentDelete(w *response, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := detached(r)
	digest, err := s.catalog(ctx).DeleteDocument(ctx, id)
	if err != nil {
		return blame("id", err)
	}
	s.forget(ctx, digest)
	w.empty()
	return nil
}

// forget drops a content that a change has left.
func (s *Server) forget(ctx context.Context, digest string) {
	s.leftover(s.vault.drop(ctx, digest))
}

// leftover logs that a file without a use could not be removed. What was asked is done
// all the same, so that it is not the client's concern.
func (s *Server) leftover(err error) {
	if err != nil {
		s.log.WithError(err).Warn("a file without a use stays in the data directory")
	}
}

// detached is a request's context without its end: a change that has begun goes on when
// the client goes away.
func detached(r *http.Request) context.Context { return context.WithoutCancel(r.Context()) }
