package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/blob"
)

// opened is a content that somebody reads.
type opened struct {
	io.ReadSeeker
}

// Close implements io.Closer.
func (opened) Close() error { return nil }

// breaking is a content that cannot be read.
type breaking struct {
	io.Seeker
	io.Reader
}

// spoil has open called for contents until the test ends.
func (h *service) spoil(t *testing.T, open func(digest string) (io.ReadSeekCloser, error)) {
	t.Helper()
	t.Cleanup(h.SpoilContents(open))
}

// A request for a lost content is answered with that reason and a long Retry-After; the log names the
// content.
func TestALostContent(t *testing.T) {
	t.Parallel()
	log, hook := test.NewNullLogger()
	h := start(t, func(o *server.Options) { o.Log = log })
	o := furnish(t, h)
	const content = "content of a"
	digest := strings.Trim(etag(content), `"`)
	for name, open := range map[string]func(digest string) (io.ReadSeekCloser, error){
		"missing": func(digest string) (io.ReadSeekCloser, error) {
			return nil, fmt.Errorf("content %s: %w", digest, blob.ErrMissing)
		},
		"short": func(string) (io.ReadSeekCloser, error) { return opened{strings.NewReader(content[1:])}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			h.spoil(t, open)
			asked := []string{"GET /document/" + text(o.a) + "/pdf?original=true", "HEAD /document/" + text(o.a) + "/pdf?original=true"}
			if name == "missing" { // a content is measured where it is sent
				asked = append(asked, "GET /document/"+text(o.a)+"/pdf", "GET /document/"+text(o.a)+"/ocr-result", "GET "+pageOf(o.a, 1)+"/preview")
			}
			for _, what := range asked {
				hook.Reset()
				method, path, _ := strings.Cut(what, " ")
				a := h.send(method, path, "", nil)
				if a.status != http.StatusInternalServerError || a.header.Get("Retry-After") != "60" {
					t.Errorf("%s: %d %v %s", what, a.status, a.header, a.body)
				}
				if method == http.MethodGet && (!strings.Contains(a.body, `"urn:archivefs:problem:lost-content"`) ||
					!strings.Contains(a.body, "document "+text(o.a)+" is missing or damaged; archivefs admin verify ")) {
					t.Errorf("%s: %s", what, a.body)
				}
				var failures []*logrus.Entry
				for _, entry := range hook.AllEntries() {
					if entry.Level <= logrus.ErrorLevel {
						failures = append(failures, entry)
					}
				}
				if len(failures) != 1 || failures[0].Data["document"] != int64(o.a) || failures[0].Data["content"] != digest {
					t.Errorf("%s: logged %v", what, failures)
				}
			}
		})
	}
	if a := h.get("/document/" + text(o.a) + "/pdf?original=true"); a.status != http.StatusOK || a.body != content {
		t.Errorf("when it is back: %d %s", a.status, a.body)
	}
}

// A lost rendition is made again, and kept as before.
func TestWhatWasMadeIsMadeAgain(t *testing.T) {
	t.Parallel()
	needPoppler(t)
	log, hook := test.NewNullLogger()
	h := start(t, func(o *server.Options) { o.Log = log })
	o := furnish(t, h)
	const mail = "From: a@example.org\r\nTo: b@example.org\r\nMessage-ID: <1@example.org>\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\nSubject: S\r\n\r\nBody\r\n"
	id := h.uploaded("m.eml", mail, "target-folder-id", text(o.other))
	asked := []string{"/document/" + text(id) + "/pdf", "/document/" + text(id) + "/ocr-result", pageOf(id, 1) + "/preview"}
	kept := func() (digests []string) {
		t.Helper()
		if err := h.EachContent(t.Context(), func(digest string) error {
			digests = append(digests, digest)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return digests
	}
	before := kept()
	answers := map[string]answer{}
	for _, path := range asked {
		answers[path] = h.get(path)
	}
	for _, path := range asked {
		made := slices.DeleteFunc(kept(), func(digest string) bool { return slices.Contains(before, digest) })
		if len(made) != 2 {
			t.Fatalf("%d contents were made, want a PDF and a text", len(made))
		}
		for _, digest := range made {
			if err := h.LoseContent(t.Context(), digest); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			hook.Reset()
			a := h.get(path)
			var warned []*logrus.Entry
			for _, entry := range hook.AllEntries() {
				if entry.Level <= logrus.WarnLevel {
					warned = append(warned, entry)
				}
			}
			if a.status != http.StatusOK || path != asked[0] && a.body != answers[path].body || !strings.HasPrefix(a.body, answers[path].body[:4]) {
				t.Errorf("%s: %d, %d bytes, want %d", path, a.status, len(a.body), len(answers[path].body))
			}
			if len(made) > 0 && (len(warned) != 1 || warned[0].Data["document"] != int64(id)) || len(made) == 0 && len(warned) > 0 {
				t.Errorf("%s: warned %v", path, warned)
			}
			made = nil // it exists again
		}
		for _, path := range asked {
			h.get(path)
		}
	}
}

// A content that was removed because its document was replaced is not lost.
func TestAContentThatIsReplacedIsNotLost(t *testing.T) {
	t.Parallel()
	log, hook := test.NewNullLogger()
	h := start(t, func(o *server.Options) { o.Log = log })
	o := furnish(t, h)
	due := ""
	h.spoil(t, func(string) (io.ReadSeekCloser, error) {
		if due == "" {
			return nil, nil
		}
		body, contentType := multipartBody(t, "scan.txt", due)
		due = ""
		if a := h.send(http.MethodPost, "/document/"+text(o.scan)+"/replace", contentType, body); a.status != http.StatusOK {
			t.Errorf("replace: %d %s", a.status, a.body)
		}
		return nil, nil
	})
	due = "another content"
	if a := h.get("/document/" + text(o.scan) + "/pdf?original=true"); a.status != http.StatusOK || a.body != "another content" {
		t.Errorf("%d %s", a.status, a.body)
	}
	due = "a third one"
	if a := h.get(pageOf(o.scan, 1) + "/preview"); a.status != http.StatusTooManyRequests {
		t.Errorf("a preview: %d %s", a.status, a.body)
	}
	for _, entry := range hook.AllEntries() {
		if entry.Level <= logrus.ErrorLevel {
			t.Errorf("logged %v", entry)
		}
	}
}

// If a content cannot be read to its end, the answer is cut, and the log says why.
func TestAContentThatBreaksOff(t *testing.T) {
	t.Parallel()
	log, hook := test.NewNullLogger()
	ended := make(chan server.Request, 1)
	h := start(t, func(o *server.Options) { o.Log, o.OnRequest = log, func(r server.Request) { ended <- r } })
	o := furnish(t, h)
	const content = "content of a"
	h.spoil(t, func(string) (io.ReadSeekCloser, error) {
		return opened{breaking{strings.NewReader(content), io.MultiReader(strings.NewReader(content[:5]), iotest.ErrReader(errors.New("a bad sector")))}}, nil
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/document/"+text(o.a)+"/pdf?original=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("API-Key", testKey)
	if response, err := h.client.Do(request); err == nil {
		got, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil {
			t.Errorf("%d, %q", response.StatusCode, got)
		}
	}
	<-ended
	for _, entry := range hook.AllEntries() {
		if err, _ := entry.Data[logrus.ErrorKey].(error); entry.Level == logrus.ErrorLevel && err != nil && err.Error() == "a bad sector" {
			return
		}
	}
	t.Errorf("logged %v", hook.AllEntries())
}
