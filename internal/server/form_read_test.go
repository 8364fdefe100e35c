package server

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"testing"
)

// counted counts its reads.
type counted struct {
	io.Reader
	reads int
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

// A large file is read from the connection in large pieces, because each is a system call.
func TestAFormIsReadInLargePieces(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Data: t.TempDir(), Database: NewDatabase(t), Blobs: NewBlobs(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const size = 8 << 20
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile(fieldData, "a.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	body := &counted{Reader: &form}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	u, err := newUploadHandlers(s.intake).submission(&response{ResponseWriter: httptest.NewRecorder()}, &request{Request: r})
	if err != nil {
		t.Fatal(err)
	}
	defer s.intake.discard(u.file)
	if most := size/formAhead + 8; u.file.Size() != size || body.reads > most {
		t.Errorf("%d bytes in %d reads, want %d in at most %d", u.file.Size(), body.reads, size, most)
	}
}
