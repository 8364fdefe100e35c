//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	weak "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// service is the service at work.
type service struct {
	url, key  string
	documents int
	folders   []int64        // of a thousand documents each
	uploads   int64          // the folder for uploads
	sent      *atomic.Uint64 // counts uploads, so that no two are equal
}

// uploadSize is how many bytes are uploaded.
const uploadSize = 100_000

// ready is the line that the service begins with.
var ready = regexp.MustCompile(`(?m)^serving .* at (http://\S+)$`)

// start starts a service of an archive that fill made, below a directory.
func start(ctx context.Context, o options, dir, log string, env ...string) (*service, *machine.Process, error) {
	s := &service{key: rand.Text(), sent: new(atomic.Uint64)}
	process, err := machine.Start(ctx, `exec "$ARCHIVEFS" serve --listen 127.0.0.1:0 --log-level warn --data "$DATA"`,
		append([]string{"ARCHIVEFS=" + o.program, "DATA=" + filepath.Join(dir, "data"), "ARCHIVEFS_API_KEY=" + s.key}, env...), log)
	if err != nil {
		return nil, nil, err
	}
	if err := awaitStart(ctx, process, func() bool {
		text, _ := os.ReadFile(log) //nolint:gosec // below the scratch directory
		if found := ready.FindSubmatch(text); found != nil {
			s.url = string(found[1])
		}
		return s.url != ""
	}); err != nil {
		process.Stop()
		return nil, nil, fmt.Errorf("start the service: %w", err)
	}
	if err := s.look(ctx); err != nil {
		process.Stop()
		return nil, nil, err
	}
	return s, process, nil
}

// measureService starts a service and measures each operation.
func measureService(ctx context.Context, o options, dir string, documents int) (results []result, err error) {
	s, process, err := start(ctx, o, dir, filepath.Join(dir, fmt.Sprintf("service-%d.log", documents)))
	if err != nil {
		return nil, err
	}
	defer process.Stop()
	s.documents = documents
	for _, connections := range o.connections {
		for _, op := range s.operations() {
			progress("%s, %d connections, %d documents", op.name, connections, documents)
			r, err := measure(ctx, op, connections, o.each)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", op.name, err)
			}
			r.documents = documents
			results = append(results, r)
		}
	}
	return results, nil
}

// awaitStart waits until a process is ready, for a minute at most.
func awaitStart(ctx context.Context, process *machine.Process, ready func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !ready() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-process.Ended():
			return errors.New("it has ended by itself")
		case <-limit:
			return errors.New("it is not ready within a minute")
		case <-tick.C:
		}
	}
	return nil
}

// look finds the folders.
func (s *service) look(ctx context.Context) error {
	r, err := s.request(ctx, http.MethodGet, "/archivestructure", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	var structure any
	if err := json.NewDecoder(answer.Body).Decode(&structure); err != nil {
		return fmt.Errorf("structure of the archive: %w", err)
	}
	s.collect(structure)
	if len(s.folders) == 0 || s.uploads == 0 {
		return errors.New("the archive lacks its folders")
	}
	return nil
}

// collect takes the folders out of whatever holds them.
func (s *service) collect(value any) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			s.collect(element)
		}
	case map[string]any:
		name, _ := v["name"].(string)
		id, _ := v["id"].(float64)
		if name == "uploads" {
			s.uploads = int64(id)
		} else if strings.HasPrefix(name, "folder ") {
			s.folders = append(s.folders, int64(id))
		}
		for _, field := range v {
			s.collect(field)
		}
	}
}

func (s *service) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err == nil {
		r.Header.Set("API-Key", s.key)
	}
	return r, err
}

// operations are what is measured, and a mixture of it: of ten requests seven are contents,
// two lists and one is an upload.
func (s *service) operations() []operation {
	return []operation{
		{"list of 1,000 documents", s.list},
		{"content of 1 MiB", s.content},
		{"upload of 100 KB", s.upload},
		{"mixed", func(ctx context.Context, r *weak.Rand) (*http.Request, error) {
			switch n := r.IntN(10); {
			case n < 7:
				return s.content(ctx, r)
			case n < 9:
				return s.list(ctx, r)
			default:
				return s.upload(ctx, r)
			}
		}},
	}
}

func (s *service) list(ctx context.Context, r *weak.Rand) (*http.Request, error) {
	return s.request(ctx, http.MethodGet, fmt.Sprintf("/document/list?folder-id=%d", s.folders[r.IntN(len(s.folders))]), nil)
}

func (s *service) content(ctx context.Context, r *weak.Rand) (*http.Request, error) {
	return s.request(ctx, http.MethodGet, fmt.Sprintf("/document/%d/pdf?original=true", 1+r.IntN(min(s.documents, 10*folderSize))), nil)
}

func (s *service) upload(ctx context.Context, _ *weak.Rand) (*http.Request, error) {
	n := uint64(time.Now().UnixNano())<<8 + s.sent.Add(1)
	return s.form(ctx, fmt.Sprintf("Rechnung %d.pdf", n), pdf(uploadSize, n))
}

// form uploads a document.
func (s *service) form(ctx context.Context, name string, content []byte) (*http.Request, error) {
	var body bytes.Buffer
	fmt.Fprintf(&body, "--XX\r\nContent-Disposition: form-data; name=\"target-folder-id\"\r\n\r\n%d\r\n", s.uploads)
	fmt.Fprintf(&body, "--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"%s\"\r\n\r\n", name)
	body.Write(content)
	body.WriteString("\r\n--XX--\r\n")
	request, err := s.request(ctx, http.MethodPost, "/file-upload", body.Bytes())
	if err == nil {
		request.Header.Set("Content-Type", "multipart/form-data; boundary=XX")
	}
	return request, err
}
