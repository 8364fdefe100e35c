package apiclient

import (
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/archivefs/archivefs/archive"
)

// endless is a blob of a size whose bytes are made as they are read.
type endless struct{ size int64 }

func (e endless) Size() int64 { return e.size }

func (e endless) ReadAt(p []byte, offset int64) (int, error) {
	n := min(int64(len(p)), e.size-offset)
	for i := range p[:n] {
		p[i] = byte((offset + int64(i)) % 251)
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func TestUploadStreams(t *testing.T) {
	const size = 64 << 20
	file := endless{size}
	var received int64
	sum, want := sha256.New(), sha256.New()
	c := newService(t, func(w http.ResponseWriter, r *http.Request) {
		_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if r.Header.Get("Expect") != "100-continue" || r.ContentLength <= size {
			t.Errorf("Expect is %q, Content-Length %d", r.Header.Get("Expect"), r.ContentLength)
		}
		for form := multipart.NewReader(r.Body, params["boundary"]); ; {
			part, err := form.NextPart()
			if err != nil {
				break
			}
			if part.FormName() == "upload-data" {
				if received, err = io.Copy(sum, part); err != nil {
					t.Error(err)
				}
			}
		}
		reply(w, http.StatusOK, "text/plain", "17")
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	id, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, file)
	runtime.ReadMemStats(&after)
	if err != nil || id != 17 || received != size {
		t.Fatalf("id %d, %v; %d bytes received, want %d", id, err, received, size)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > size/8 {
		t.Errorf("%d bytes were allocated for %d", grown, size)
	}
	if _, err := io.Copy(want, io.NewSectionReader(file, 0, size)); err != nil {
		t.Fatal(err)
	}
	if string(sum.Sum(nil)) != string(want.Sum(nil)) {
		t.Error("other bytes were received")
	}
}

func TestFileNamesInMultipart(t *testing.T) {
	for name, want := range map[string]string{
		"Größe.pdf": "Größe.pdf", `a"b.pdf`: `a"b.pdf`, `a\b.pdf`: `a\b.pdf`, `end\`: `end\`, "a\r\nb": "a%0D%0Ab", "a;b=c": "a;b=c",
		"a\tb": "a\tb", "red\x1b[31m": "red_[31m", "a\x7f": "a_", "\a": "_",
	} {
		c := newService(t, func(w http.ResponseWriter, r *http.Request) {
			_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
			fields := map[string]string{}
			for form := multipart.NewReader(r.Body, params["boundary"]); ; {
				part, err := form.NextPart()
				if err != nil {
					break
				}
				value, err := io.ReadAll(part)
				if err != nil {
					t.Error(err)
				}
				fields[part.FormName()] = string(value)
				if part.FormName() == "upload-data" {
					_, disposition, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
					if err != nil || disposition["filename"] != want {
						t.Errorf("%q is sent as %q, %v", name, disposition["filename"], err)
					}
				}
			}
			if fields["target-document-name"] != name {
				t.Errorf("%q is named %q", name, fields["target-document-name"])
			}
			reply(w, http.StatusOK, "", "17")
		})
		if _, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: name}, newBlob("x")); err != nil {
			t.Error(err)
		}
	}
}

// broken is a blob that fails, or ends, in the middle.
type broken struct {
	endless
	end int64
	err error
}

func (b broken) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= b.end {
		return 0, b.err
	}
	return b.endless.ReadAt(p[:min(int64(len(p)), b.end-offset)], offset)
}

func TestUploadOfAFileThatCannotBeRead(t *testing.T) {
	errDisk := errors.New("disk failed")
	for _, cause := range []error{errDisk, io.EOF} {
		whole := make(chan bool, 1)
		c := newService(t, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			whole <- err == nil
		})
		_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, broken{endless{1 << 19}, 1 << 18, cause})
		wantKind(t, err, OpFileUpload, archive.KindOther)
		if <-whole || !strings.Contains(err.Error(), "reading what is to be sent") {
			t.Errorf("received as a whole, or the error is %v", err)
		}
		if cause == errDisk && !errors.Is(err, errDisk) { //nolint:errorlint // which case this is
			t.Errorf("error is %v", err)
		}
	}
}

func TestARefusedUploadSendsNoBody(t *testing.T) {
	c := newService(t, answer(http.StatusRequestEntityTooLarge, "", "at most 1 MB"))
	read := &counting{endless: endless{1 << 30}}
	_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, read)
	wantKind(t, err, OpFileUpload, archive.KindTooLarge)
	if read.bytes != 0 {
		t.Errorf("%d bytes of the file were read", read.bytes)
	}
}

// counting counts the bytes read.
type counting struct {
	endless
	bytes int64
}

func (c *counting) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.endless.ReadAt(p, offset)
	c.bytes += int64(n)
	return n, err
}

func TestSendingIsNotReadAfterItsEnd(t *testing.T) {
	touched := 0
	s := &sending{source: strings.NewReader("text"), progress: func(int) { touched++ }}
	buf := make([]byte, 2)
	if n, err := s.Read(buf); n != 2 || err != nil || touched != 1 {
		t.Fatal(n, err, touched)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Read(buf); n != 0 || !errors.Is(err, errSendingEnded) || s.failure() != nil {
		t.Error(n, err, s.failure())
	}
}

func TestAnAnswerBeforeTheBodyIsSentIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
				t.Error(err)
			}
			chunk(w, " 1")
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
			chunk(w, "7 ")
		})
		id, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, lingering{endless{1 << 19}})
		if err != nil || id != 17 {
			t.Errorf("id %d, %v", id, err)
		}
	})
}

// lingering gives its end only when the head of the answer has been read.
type lingering struct{ endless }

func (l lingering) ReadAt(p []byte, offset int64) (int, error) {
	n, err := l.endless.ReadAt(p, offset)
	if offset+int64(n) == l.size {
		synctest.Wait()
	}
	return n, err
}

func TestUploadReadsTheID(t *testing.T) {
	for body, want := range map[string]archive.ID{
		"17": 17, " 17\n": 17, `"17"`: 17, `{"id":17}`: 17, `{"id":"17"}`: 17, `{"document-id":17}`: 17, `{"documentId":17}`: 17,
		`[17]`: 17, `["17",18]`: 17, `[{"id":17},{"id":18}]`: 17, "\ufeff17": 17, `9007199254740993`: 9007199254740993,
		"": 0, "OK": 0, "null": 0, "true": 0, `{}`: 0, `[]`: 0, `[[17]]`: 0, `-1`: 0, `1.5`: 0, `{"id":null}`: 0, `{"id":{}}`: 0,
		`"OK"`: 0, "99999999999999999999": 0,
	} {
		c := newService(t, standing(answer(http.StatusOK, "", body)))
		got, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
		if err != nil || got != want {
			t.Errorf("%q: id %d, %v; want %d", body, got, err, want)
		}
	}
	for body, want := range map[string]string{
		`{"id":17`: "byte 8", `[17`: "byte 3", `"17`: "byte 3", "<html>login": "web page", strings.Repeat("7", smallLimit+1): "longer",
	} {
		c := newService(t, answer(http.StatusOK, mediaJSON, body))
		_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
		kind := archive.KindProtocol
		if strings.HasPrefix(body, "<") {
			kind = archive.KindForeign
		}
		wantKind(t, err, OpFileUpload, kind)
		if !strings.Contains(err.Error(), want) || !archive.Doubtful(err) {
			t.Errorf("%.20q: error is %v, want %q", body, err, want)
		}
	}
}
