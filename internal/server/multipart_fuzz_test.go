package server

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// FuzzSubmission feeds form bodies: each is refused as the client's fault, or staged
// whole.
func FuzzSubmission(f *testing.F) {
	part := func(disposition, content string) string {
		return "--B\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
	}
	f.Add(part(`name="upload-data"; filename="f"`, "x") + part(`name="keywords"`, "a,b") + "--B--\r\n")
	f.Add(part(`name="upload-data-base64"`, "eHl6") + "--B--\r\n")
	f.Add(part(`name="upload-data"; filename="f"`, "x"))
	f.Add(part(`name=`, "x") + "--B--")
	f.Add("--B\r\n\r\n\r\n--B--\r\n")
	s, err := Open(f.Context(), Options{Data: f.TempDir(), MaxUpload: 1 << 10})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=B")
		u, err := newUploadHandlers(s.intake).submission(&response{ResponseWriter: httptest.NewRecorder()}, &request{Request: r})
		if err != nil {
			if kind := archive.KindOf(err); kind != archive.KindInvalid && kind != archive.KindTooLarge {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		defer s.intake.discard(u.file)
		content, err := io.ReadAll(io.NewSectionReader(u.file, 0, u.file.Size()+1))
		if err != nil || int64(len(content)) != u.file.Size() || !strings.Contains(body, "--B--") {
			t.Errorf("%q: %d bytes of %d, %v", body, len(content), u.file.Size(), err)
		}
		if !bytes.Contains([]byte(body), content) && !strings.Contains(body, fieldBase64) && !strings.Contains(strings.ToLower(body), "quoted-printable") {
			t.Errorf("%q was staged as %q", body, content)
		}
	})
}
