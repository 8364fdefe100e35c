package server

import (
	"context"
	"net/http"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/render"
)

// documentText answers GET /document/{id}/ocr-result: the text of a document, its pages
// separated by form feeds. There is one of texts and e-mails; nothing is recognised in
// pictures and PDFs.
func (s *Server) documentText(w *response, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	text, err := s.ofDocument(r.Context(), id, render.Text)
	if err != nil {
		return err
	}
	if text == nil {
		return blame("id", refuse(archive.KindNotFound, "no text is known of document %d", id))
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.text(string(text))
	return nil
}

// maxBox is the longest side of a preview, in pixels.
const maxBox = 10_000

// pagePreview answers GET /page/{id}/preview: a JPEG that fits into the box. There is one of
// the pages of pictures alone.
func (s *Server) pagePreview(w *response, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	p := query(r)
	width, height := p.number("bbox-width", maxBox, 1, maxBox), p.number("bbox-height", maxBox, 1, maxBox)
	if err := p.err(); err != nil {
		return err
	}
	none := blame("id", refuse(archive.KindNotFound, "there is no preview of page %d", id))
	document, page := id/pagesPerDocument, int(id%pagesPerDocument)-1
	if page < 0 {
		return none
	}
	picture, err := s.ofDocument(r.Context(), document, func(source render.Source) ([]byte, error) {
		s.renderers <- struct{}{} // it holds the decoded image
		defer func() { <-s.renderers }()
		return render.Preview(source, page, width, height)
	})
	if err != nil {
		return err
	}
	if picture == nil {
		return none
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.body("image/jpeg", picture)
	return nil
}

// ofDocument returns what is made of a document's content, nil for nothing.
func (s *Server) ofDocument(ctx context.Context, id archive.ID, produce func(render.Source) ([]byte, error)) ([]byte, error) {
	d, err := s.catalog(ctx).Document(ctx, id)
	if err != nil {
		return nil, blame("id", err)
	}
	content, err := s.vault.Open(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	return produce(render.Source{Content: content, Name: d.Name, ContentType: d.ContentType, Size: d.Size})
}
