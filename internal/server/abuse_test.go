package server_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
)

// abuse is text that is sent over a connection of its own, with or without a key.
type abuse struct {
	name, text string
}

// form is a request with a correct Content-Length.
func form(head, contentType, body string) string {
	return fmt.Sprintf("POST /api/v2%s HTTP/1.1\r\nHost: h\r\nAPI-Key: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		head, testKey, contentType, len(body), body)
}

// keyed is a request without a body, with the key.
func keyed(line string, header ...string) string {
	return line + "\r\nHost: h\r\nAPI-Key: " + testKey + "\r\n" + strings.Join(append(header, ""), "\r\n") + "\r\n"
}

// stranger is a request without the key.
func stranger(line string, header ...string) string {
	return line + "\r\nHost: h\r\n" + strings.Join(append(header, ""), "\r\n") + "\r\n"
}

func withoutKey() []abuse {
	const get, post = "GET /api/v2/inboxes HTTP/1.1", "POST /api/v2/folder/create HTTP/1.1"
	const urlencoded = "Content-Type: application/x-www-form-urlencoded"
	return []abuse{
		{"no key", stranger(get)},
		{"an empty key", stranger(get, "API-Key:")},
		{"a wrong key", stranger(get, "API-Key: "+testKey+"x")},
		{"a part of the key", stranger(get, "API-Key: "+testKey[:5])},
		{"the key in other letters", stranger(get, "API-Key: "+strings.ToUpper(testKey))},
		{"the key as a bearer's", stranger(get, "Authorization: Bearer "+testKey)},
		{"the key as a password", stranger(get, "Authorization: Basic ay0wMTIzNDU2Nzg5OmstMDEyMzQ1Njc4OQ==")},
		{"the key in another header", stranger(get, "X-API-Key: "+testKey)},
		{"the key in a cookie", stranger(get, "Cookie: API-Key="+testKey)},
		{"the key in the query", stranger("GET /api/v2/inboxes?API-Key=" + testKey + " HTTP/1.1")},
		{"a wrong key before the key", stranger(get, "API-Key: x", "API-Key: "+testKey)},
		{"a Cloud-ID alone", stranger(get, "Cloud-ID: c")},
		{"both sets without a key", stranger(get, "Cloud-ID: c", "Authorization: Basic ZTpz")},
		{"a header with a blank before the colon", stranger(get, "API-Key : "+testKey)},
		{"a header without a colon", stranger(get, "API-Key "+testKey)},
		{"a NUL in a header", stranger(get, "X: a\x00b")},
		{"a NUL in the key", stranger(get, "API-Key: "+testKey+"\x00")},
		{"a carriage return in a header", stranger(get, "X: a\rAPI-Key: "+testKey)},
		{"a folded header", stranger(get, "X: a", " API-Key: "+testKey)},
		{"bare line feeds", "GET /api/v2/inboxes HTTP/1.1\nHost: h\n\n"},
		{"two hosts", "GET /api/v2/inboxes HTTP/1.1\r\nHost: a\r\nHost: b\r\nAPI-Key: " + testKey + "\r\n\r\n"},
		{"no host", "GET /api/v2/inboxes HTTP/1.1\r\nAPI-Key: " + testKey + "\r\n\r\n"},
		{"an absolute target", stranger("GET http://evil.example/api/v2/inboxes HTTP/1.1")},
		{"a tunnel", stranger("CONNECT evil.example:443 HTTP/1.1")},
		{"everything's options", stranger("OPTIONS * HTTP/1.1")},
		{"another version", stranger("GET /api/v2/inboxes HTTP/3.7")},
		{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"an upgrade to HTTP/2", stranger(get, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
		{"nonsense", "\x00\x01\x02\r\n\r\n"},
		{"a header over 64 KiB", stranger(get, "X: "+strings.Repeat("a", 100<<10))},
		{"10,000 headers", stranger(get, strings.Split(strings.Repeat("X: aaaaa\n", 10_000), "\n")...)},
		{"a target over 64 KiB", stranger("GET /api/v2/inboxes?" + strings.Repeat("a", 100<<10) + " HTTP/1.1")},
		{"two lengths", stranger(post, urlencoded, "Content-Length: 0", "Content-Length: 5") + "hello"},
		{"a list of lengths", stranger(post, urlencoded, "Content-Length: 0, 5") + "hello"},
		{"a negative length", stranger(post, urlencoded, "Content-Length: -1")},
		{"a length with a sign", stranger(post, urlencoded, "Content-Length: +5") + "hello"},
		{"a length that overflows", stranger(post, urlencoded, "Content-Length: 99999999999999999999")},
		{"a length beside chunks", stranger(post, urlencoded, "Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\nGET /api/v2/inboxes HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"chunks twice", stranger(post, urlencoded, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n"},
		{"chunks in other words", stranger(post, urlencoded, "Transfer-Encoding: xchunked") + "0\r\n\r\n"},
		{"another coding", stranger(post, urlencoded, "Transfer-Encoding: gzip, chunked") + "0\r\n\r\n"},
		{"a folded coding", stranger(post, urlencoded, "Transfer-Encoding:", " chunked", "Content-Length: 3") + "0\r\n\r\n"},
	}
}

func withKey(o office) []abuse {
	const urlencoded, data = "application/x-www-form-urlencoded", "multipart/form-data; boundary=XX"
	doc := "/document/" + text(o.scan)
	part := func(name, value string) string {
		return "--XX\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	file := "--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"f\"\r\n\r\nbytes\r\n"
	to := part("target-folder-id", text(o.year))
	ranges := func(n int) string { return "Range: bytes=" + strings.Repeat("0-0,", n) + "0-0" }
	all := []abuse{
		{"dots in the path", keyed("GET /api/v2/document/../inboxes HTTP/1.1")},
		{"dots that are escaped", keyed("GET /api/v2/document/%2e%2e/inboxes HTTP/1.1")},
		{"slashes that are escaped", keyed("GET /api/v2%2finboxes HTTP/1.1")},
		{"a way out", keyed("GET /api/v2/../../../../etc/passwd HTTP/1.1")},
		{"a NUL in the path", keyed("GET /api/v2/document/%00/data HTTP/1.1")},
		{"a tunnel into the path", keyed("CONNECT /api/v2/inboxes HTTP/1.1")},
		{"a star", keyed("GET * HTTP/1.1")},
		{"another way of writing it", keyed("GET /API/v2/inboxes HTTP/1.1")},
		{"another key beside the right one", keyed("GET /api/v2/inboxes HTTP/1.1", "API-Key: other")},
		{"the right key twice", keyed("GET /api/v2/inboxes HTTP/1.1", "API-Key: "+testKey)},
		{"a negative id", keyed("GET /api/v2/document/-1/data HTTP/1.1")},
		{"an id that overflows", keyed("GET /api/v2/document/9223372036854775808/data HTTP/1.1")},
		{"a huge id", keyed("GET /api/v2/document/9223372036854775807/pdf HTTP/1.1")},
		{"a huge page", keyed("GET /api/v2/page/9223372036854775807/preview HTTP/1.1")},
		{"a negative page", keyed("GET /api/v2/page/-65537/preview HTTP/1.1")},
		{"an id in other digits", keyed("GET /api/v2/document/%D9%A1/data HTTP/1.1")},
		{"a folder that overflows", keyed("GET /api/v2/document/list?folder-id=-9223372036854775809 HTTP/1.1")},
		{"a broken escape", keyed("GET /api/v2/document/list?folder-id=%zz HTTP/1.1")},
		{"ranges for everybody", keyed("GET /api/v2"+doc+"/pdf?original=true HTTP/1.1", ranges(5000))},
		{"no such range", keyed("GET /api/v2"+doc+"/pdf?original=true HTTP/1.1", "Range: bytes=9223372036854775807-9223372036854775807")},
		{"an upload's trace", keyed("TRACE /api/v2/file-upload HTTP/1.1")},
		{"a huge number of fields", form("/folder/create", urlencoded, strings.Repeat("a&", 500_000))},
		{"a form that is too long", form("/folder/create", urlencoded, "folder-name="+strings.Repeat("a", 2<<20))},
		{"deep JSON", form(doc+"/keywords", "application/json", strings.Repeat("[", 500_000))},
		{"a deep object", form(doc+"/metadata", "application/json", strings.Repeat(`{"a":`, 100_000))},
		{"JSON that is too long", form(doc+"/keywords", "application/json", `["`+strings.Repeat("a", 2<<20)+`"]`)},
		{"a text of JSON", form(doc+"/keywords", "text/plain", `["a"]`)},
		{"a form without an end", form("/file-upload", data, to+file)},
		{"a form that is cut in a file", form("/file-upload", data, to+file[:len(file)-4])},
		{"thousands of parts", form("/file-upload", data, strings.Repeat(part("a", ""), 20_000)+file+"--XX--\r\n")},
		{"a part with a huge header", form("/file-upload", data, "--XX\r\nX: "+strings.Repeat("a", 12<<20)+"\r\n\r\n\r\n"+file+"--XX--\r\n")},
		{"two files", form("/file-upload", data, to+file+file+"--XX--\r\n")},
		{"no boundary", form("/file-upload", "multipart/form-data", to+file+"--XX--\r\n")},
		{"an empty boundary", form("/file-upload", `multipart/form-data; boundary=""`, to+file+"--XX--\r\n")},
		{"a boundary that never comes", form("/file-upload", "multipart/form-data; boundary=YY", to+file+"--XX--\r\n")},
		{"a boundary of line feeds", form("/file-upload", `multipart/form-data; boundary="X\r\nX"`, to+file+"--XX--\r\n")},
		{"a mixed form", form("/file-upload", "multipart/mixed; boundary=XX", to+file+"--XX--\r\n")},
		{"a name that is too long", form("/file-upload", data, to+part("target-document-name", strings.Repeat("a", 5000))+file+"--XX--\r\n")},
		{"base64 that is none", form("/file-upload", data, to+part("target-document-name", "f")+part("upload-data-base64", "%%%")+"--XX--\r\n")},
		{"a file larger than all", keyed("POST /api/v2/file-upload HTTP/1.1", "Content-Type: "+data, "Content-Length: 99999999999999")},
		{"a huge file that waits to be asked for", keyed("POST /api/v2/file-upload HTTP/1.1", "Content-Type: "+data, "Expect: 100-continue", "Content-Length: 99999999999999")},
		{"another expectation", keyed("POST /api/v2/file-upload HTTP/1.1", "Content-Type: "+data, "Expect: the-impossible", "Content-Length: 5") + "hello"},
		{"a chunk that overflows", keyed("POST /api/v2/file-upload HTTP/1.1", "Content-Type: "+data, "Transfer-Encoding: chunked") + "fffffffffffffffff\r\nhello"},
		{"a negative chunk", keyed("POST /api/v2/folder/create HTTP/1.1", "Content-Type: "+urlencoded, "Transfer-Encoding: chunked") + "-5\r\nhello\r\n0\r\n\r\n"},
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE", "PROPFIND", "MKCOL", "get"} {
		all = append(all, abuse{"method " + method, keyed(method + " /api/v2" + doc + "/data HTTP/1.1")})
	}
	return all
}

// Whatever is sent, nothing is served without the key, nothing changes, and the service keeps
// running.
func TestAbuse(t *testing.T) {
	h := start(t, func(o *server.Options) { o.MaxUpload = 1 << 20 })
	o := furnish(t, h)
	address := h.serving()
	h.StopBackground() // it reads the texts of documents meanwhile, which their data says
	before := h.everything(o)
	for _, a := range append(withoutKey(), withKey(o)...) {
		t.Run(a.name, func(t *testing.T) {
			conn := raw(t, address, "")
			go func() { // the service may answer, and close, before it has read all
				_, _ = conn.Write([]byte(a.text))
				_ = conn.CloseWrite()
			}()
			for _, got := range rest(t, conn) {
				wantTurnedDown(t, got)
			}
		})
	}
	if after := h.everything(o); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if a := h.get("/inboxes"); a.status != http.StatusOK {
		t.Errorf("the service answers %d", a.status)
	}
}

// The connection ends after a chunked body: a proxy may have gone by a Content-Length that was also
// there, and taken the following bytes for a part of the body (RFC 9112, 6.1).
func TestNothingFollowsChunks(t *testing.T) {
	h := start(t)
	o := furnish(t, h)
	address := h.serving()
	const urlencoded = "Content-Type: application/x-www-form-urlencoded"
	body := "parent-folder-id=" + text(o.year) + "&folder-name="
	next := keyed("GET /api/v2/inboxes HTTP/1.1", "Connection: close")
	chunks := func(name string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body+name), body+name) }
	for name, test := range map[string]struct {
		text    string
		answers int
	}{
		"length":   {keyed("POST /api/v2/folder/create HTTP/1.1", urlencoded, fmt.Sprintf("Content-Length: %d", len(body)+1)) + body + "a" + next, 2},
		"chunks":   {keyed("POST /api/v2/folder/create HTTP/1.1", urlencoded, "Transfer-Encoding: chunked") + chunks("b") + next, 1},
		"both":     {keyed("POST /api/v2/folder/create HTTP/1.1", urlencoded, "Transfer-Encoding: chunked", fmt.Sprintf("Content-Length: %d", len(chunks("c")+next))) + chunks("c") + next, 1},
		"stranger": {stranger("POST /api/v2/folder/create HTTP/1.1", urlencoded, "Transfer-Encoding: chunked", "Content-Length: 5") + chunks("d") + next, 1},
	} {
		answers := rest(t, raw(t, address, test.text))
		if len(answers) != test.answers {
			t.Errorf("%s: %d answers, want %d", name, len(answers), test.answers)
		}
		if want := map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK}[name == "stranger"]; len(answers) > 0 && answers[0].status != want {
			t.Errorf("%s: %d %s", name, answers[0].status, answers[0].body)
		}
	}
}

// wantTurnedDown wants a problem, or an error of net/http: 501 for a transfer coding, and 505
// for a version, are its own.
func wantTurnedDown(t *testing.T, a answer) {
	t.Helper()
	ours := a.header.Get("X-Request-Id") != ""
	switch {
	case ours && a.status >= 400 && a.status <= 499:
		if a.body != "" {
			wantProblem(t, a, a.status, "")
		}
	case !ours && (a.status >= 400 && a.status <= 499 || a.status == http.StatusNotImplemented || a.status == http.StatusHTTPVersionNotSupported):
	default:
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

// everything is the state of an archive, in the database and on disk.
func (h *service) everything(o office) string {
	h.t.Helper()
	var all strings.Builder
	for _, path := range append(paths(o), "/document/list?folder-id="+text(o.mandator)+"&subfolders-recursive=true&with-autoexport-status=true",
		"/document/list?folder-id="+text(o.spare), "/document/list?folder-id="+text(o.other)) {
		fmt.Fprintln(&all, path, h.get(path).body)
	}
	var digests []string
	if err := h.EachContent(h.t.Context(), func(digest string) error { digests = append(digests, digest); return nil }); err != nil {
		h.t.Fatal(err)
	}
	slices.Sort(digests)
	fmt.Fprintln(&all, digests)
	staged, err := os.ReadDir(filepath.Join(h.options.Data, "contents", "incoming"))
	if err != nil {
		h.t.Fatal(err)
	}
	fmt.Fprintln(&all, staged)
	return all.String()
}

// Many clients that send nothing do not keep others from being answered.
func TestConnectionsThatSayNothing(t *testing.T) {
	h := start(t, func(o *server.Options) { o.MaxRequests, o.MaxUploads = 2, 1 })
	address := h.serving()
	for range 200 {
		raw(t, address, "GET /api/v2/inboxes HTTP/1.1\r\nHost")
	}
	var conn net.Conn = raw(t, address, keyed("GET /api/v2/inboxes HTTP/1.1", "Connection: close"))
	if answers := rest(t, conn); len(answers) != 1 || answers[0].status != http.StatusOK {
		t.Errorf("%+v", answers)
	}
}

// While the uploads of one key are stalled, as many as it can have, an upload with another key succeeds.
func TestAnUploadBesideSlowOnesOfAnotherKey(t *testing.T) {
	h := start(t, func(o *server.Options) { o.MaxUploads, o.Stall = 4, time.Hour })
	h.SetPatience(time.Hour)
	o := furnish(t, h)
	key := h.key(h.manage(""), server.NewKey{})
	address := h.serving()
	for range 6 {
		raw(t, address, keyed("POST /api/v2/file-upload HTTP/1.1", "Content-Type: multipart/form-data; boundary=b", "Content-Length: 1000000"))
	}
	for now := h.Stats(t.Context()); now.Uploads != 3 || now.Waiting != 3; now = h.Stats(t.Context()) {
		time.Sleep(time.Millisecond) // until all have come
	}
	body, contentType := multipartBody(t, "beside.txt", "beside", "target-folder-id", text(o.other))
	if a := h.send(http.MethodPost, "/file-upload", contentType, body, "API-Key", key); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}
