//go:build linux

package suite

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// groupService measures the servers without a mount.
const groupService = "service"

// The names of what the servers are measured by: the big document, once.
const (
	serverNginx   = "server: nginx"
	serverOwn     = "server: archivefs"
	serverForeign = "server: archivefs-foreign"
	download      = "get512"
	downloadLimit = time.Minute
)

// source is where a server has the big document.
type source struct {
	system, url string
}

// measureService sends the documents to copy in straight to the services. It downloads the big document
// from ours and from a web server, by the same client: mounts are not to look
// fast because their server is.
func (b *Bench) measureService(ctx context.Context) error {
	b.say("== %s", groupService)
	if err := b.measureUploads(ctx); err != nil {
		return err
	}
	ours, err := b.ownSource(ctx)
	if err != nil {
		return err
	}
	sources := []source{ours}
	if missing(system{needs: []string{"nginx"}, root: true}) == "" {
		srv, err := b.serve(ctx, webDAV)
		if err != nil {
			b.giveUp(serverNginx, download, err)
		} else {
			path := (&url.URL{Path: "/" + filepath.ToSlash(b.corpus.Big)}).EscapedPath()
			sources = append(sources, source{serverNginx, "http://" + srv.address + path})
		}
	}
	for _, s := range sources {
		b.results.Forget(s.system, download)
	}
	for range b.Repeats {
		for _, s := range sources {
			took, err := fetch(ctx, s.url, b.corpus.Shape.BigSize)
			if err != nil {
				return fmt.Errorf("%s: %w", s.system, err)
			}
			b.record(s.system, download, took.Seconds(), nil)
		}
	}
	return nil
}

// ownSource finds the big document at our service.
func (b *Bench) ownSource(ctx context.Context) (source, error) {
	srv, err := b.serve(ctx, ownService)
	if err != nil {
		return source{}, err
	}
	dir, name := filepath.Split(b.corpus.Big)
	id, err := srv.find(ctx, strings.Split(strings.Trim(filepath.ToSlash(dir), "/"), "/")...)
	if err != nil {
		return source{}, err
	}
	documents, err := srv.documents(ctx, id)
	for _, d := range documents {
		if d.Name == name {
			return source{serverOwn, "http://" + srv.address + "/api/v2/" + contentOf(d)}, nil
		}
	}
	return source{}, fmt.Errorf("the service has no %s (%w)", b.corpus.Big, err)
}

// fetch downloads and forgets. It wants size bytes.
func fetch(ctx context.Context, address string, size int64) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, downloadLimit, machine.ErrTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("API-Key", key)
	began := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read to its end
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", address, answer.Status)
	}
	var n int64
	for b := make([]byte, 1<<20); err == nil; {
		var k int
		k, err = answer.Body.Read(b)
		n += int64(k)
	}
	if err != io.EOF || n != size { //nolint:errorlint // a reader answers io.EOF as it is
		return 0, fmt.Errorf("got %d bytes of %d: %w", n, size, err)
	}
	return time.Since(began), nil
}
