//go:build linux

package suite

import (
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// sent is the name of the measures of the documents that are sent to a service without a mount.
const sent = "post500"

// measureUploads sends the documents to copy in to our service and to the bare one, by one connection
// and by four. In turn with them a program copies them to the disk, with an fdatasync of each: the least
// that a service can take that loses nothing.
func (b *Bench) measureUploads(ctx context.Context) error {
	type way struct {
		system, id string
		run        func() error
	}
	ways := []way{{nativeSynced, sent, func() error {
		return copySynced(b.corpus.In(), filepath.Join(b.dir, "servers", fmt.Sprintf("%s-%d", sent, b.stamps))) // the next run removes it
	}}}
	for _, to := range []struct{ system, server string }{{serverOwn, ownService}, {serverForeign, foreignService}} {
		srv, err := b.serve(ctx, to.server)
		if err != nil {
			return err
		}
		in, err := srv.find(ctx, "IN")
		if err != nil {
			return err
		}
		for _, connections := range []int{1, 4} {
			ways = append(ways, way{to.system, fmt.Sprintf("%s_%d", sent, connections), func() error {
				return srv.upload(ctx, b.corpus.In(), in, connections)
			}})
		}
	}
	for _, w := range ways {
		b.results.Forget(w.system, w.id)
	}
	for range b.Repeats {
		for _, w := range ways {
			b.stamps++
			if err := b.corpus.Stamp(b.stamps); err != nil {
				return err
			}
			began := time.Now()
			if err := w.run(); err != nil {
				return fmt.Errorf("%s, %s: %w", w.system, w.id, err)
			}
			b.record(w.system, w.id, time.Since(began).Seconds(), nil)
		}
	}
	return nil
}

// upload sends all files of a directory to a folder of the service.
func (s *server) upload(ctx context.Context, dir string, folder int64, connections int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	senders, ctx := errgroup.WithContext(ctx)
	senders.SetLimit(connections)
	for _, e := range entries {
		senders.Go(func() error { return s.send(ctx, client, filepath.Join(dir, e.Name()), folder) })
	}
	return senders.Wait()
}

// send sends one file.
func (s *server) send(ctx context.Context, client *http.Client, path string, folder int64) error {
	content, err := os.ReadFile(path) //nolint:gosec // below the corpus
	if err != nil {
		return err
	}
	var body strings.Builder
	form := multipart.NewWriter(&body)
	_ = form.WriteField("target-folder-id", fmt.Sprint(folder)) // a Builder takes all
	part, err := form.CreateFormFile("upload-data", filepath.Base(path))
	if err != nil {
		return err
	}
	_, _ = part.Write(content)
	_ = form.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/api/v2/file-upload", strings.NewReader(body.String()))
	if err != nil {
		return err
	}
	request.Header.Set("API-Key", key)
	request.Header.Set("Content-Type", form.FormDataContentType())
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read to its end
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, answer.Status, text)
	}
	return err
}
