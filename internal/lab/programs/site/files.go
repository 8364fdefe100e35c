//go:build linux

package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing/fstest"
	"time"
)

// files is a server of HTTP that files are fetched from: each also below /slow, at a megabyte a second.
type files struct{ *httptest.Server }

// Table is a text of so many megabytes: it has no mark at its end. So does big in prelude.sh.
func Table(megabytes int) []byte {
	var all []byte
	for i := range megabytes * 40_000 {
		all = fmt.Appendf(all, "%06d;0123456789abcdef\n", i)
	}
	return all
}

func serveFiles() *files {
	made := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	tree := fstest.MapFS{}
	for name, content := range map[string][]byte{
		"letter.txt": []byte("Dear Sir\n"), "big.csv": Table(8), "tree/a.txt": []byte("one\n"), "tree/b/c.txt": []byte("two\n"),
	} {
		tree[name] = &fstest.MapFile{Data: content, ModTime: made}
	}
	all := http.FileServerFS(tree)
	mux := http.NewServeMux()
	mux.Handle("/", all)
	mux.Handle("/slow/", http.StripPrefix("/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.ServeHTTP(&slow{ResponseWriter: w}, r)
	})))
	return &files{httptest.NewServer(mux)}
}

// Close does not wait for clients that were stopped.
func (f *files) Close() {
	f.CloseClientConnections()
	f.Server.Close()
}

// slow writes a megabyte a second.
type slow struct{ http.ResponseWriter }

func (s *slow) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		piece := min(len(p), 32<<10)
		var more int
		more, err = s.ResponseWriter.Write(p[:piece])
		n += more
		p = p[piece:]
		if f, is := s.ResponseWriter.(http.Flusher); is && !strings.Contains(s.Header().Get("Content-Type"), "html") {
			f.Flush()
		}
		time.Sleep(32 * time.Millisecond)
	}
	return n, err
}
