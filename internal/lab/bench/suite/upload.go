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

// measureUploads sends the documents to copy in to our service, by one connection and by four.
func (b *Bench) measureUploads(ctx context.Context) error {
	srv, err := b.serve(ctx, ownService)
	if err != nil {
		return err
	}
	in, err := srv.find(ctx, "IN")
	if err != nil {
		return err
	}
	for repeat := range b.Repeats {
		for _, connections := range []int{1, 4} {
			id := fmt.Sprintf("post500_%d", connections)
			if repeat == 0 {
				b.results.Forget(serverOwn, id)
			}
			b.stamps++
			if err := b.corpus.Stamp(b.stamps); err != nil {
				return err
			}
			began := time.Now()
			if err := srv.upload(ctx, b.corpus.In(), in, connections); err != nil {
				return err
			}
			b.record(serverOwn, id, time.Since(began).Seconds(), nil)
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
