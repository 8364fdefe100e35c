//go:build linux

package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// key is the API key of the services.
const key = "bench"

// serviceCommand starts the archive service.
const serviceCommand = `exec "$ARCHIVEFS" serve --listen "$ADDRESS" --api-key "$KEY" --log-level warn `

// treeLimit is what a copy of the whole tree, or the start of a service of it, may take.
const treeLimit = 15 * time.Minute

func (b *Bench) ownData() string { return filepath.Join(b.dir, "data") }

// startService starts an archive service on a data directory, with further options.
func (b *Bench) startService(ctx context.Context, name, data string, options ...string) (*server, error) {
	options = append(options, `--data "$DATA"`)
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	s, err := b.start(ctx, name, address, serviceCommand+strings.Join(options, " "), "DATA="+data)
	if err != nil {
		return nil, err
	}
	return s, s.await(ctx, treeLimit, func(ctx context.Context) error {
		_, err := s.folders(ctx, 0)
		return err
	})
}

// serviceOptions are the further options of an archive service.
func serviceOptions(name string) []string {
	if name == foreignService {
		return []string{"--no-sizes", "--no-head", "--no-range"}
	}
	return nil
}

// startForeign starts a service that tells no sizes, refuses HEAD and ignores Range, on a
// copy of the archive. Contents never change, so the copy shares their files.
func (b *Bench) startForeign(ctx context.Context) (*server, error) {
	copied := b.ownData() + "-foreign"
	const command = `rm -rf "$COPY" && mkdir -m 700 "$COPY" && cp -al "$DATA/contents" "$COPY/contents" && cp "$DATA"/archive.db* "$COPY"`
	if _, err := machine.Run(ctx, command, []string{"DATA=" + b.ownData(), "COPY=" + copied}, 5*time.Minute); err != nil {
		return nil, err
	}
	return b.startService(ctx, foreignService, copied, serviceOptions(foreignService)...)
}

// folder and document are what the service tells about them.
type folder struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type document struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Size int64  `json:"content-length"`
}

// get asks the service, and decodes its answer.
func (s *server) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/api/v2/"+path, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("API-Key", key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read, or of no use
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Status)
	}
	if w, ok := into.(io.Writer); ok {
		_, err = io.Copy(w, answer.Body)
		return err
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// folders are the folders in a folder, or the mandators.
func (s *server) folders(ctx context.Context, parent int64) ([]folder, error) {
	path := "archivestructure?lazy=true"
	if parent != 0 {
		path += fmt.Sprintf("&parent-folder-id=%d", parent)
	}
	var answer struct{ Folders []folder }
	err := s.get(ctx, path, &answer)
	return answer.Folders, err
}

func (s *server) documents(ctx context.Context, in int64) (list []document, err error) {
	return list, s.get(ctx, "document/list?folder-id="+url.QueryEscape(fmt.Sprint(in)), &list)
}

// errAbsent says that there is no such folder.
var errAbsent = errors.New("no such folder")

// find returns the folder at a path.
func (s *server) find(ctx context.Context, path ...string) (id int64, err error) {
	for _, name := range path {
		folders, err := s.folders(ctx, id)
		if err != nil {
			return 0, err
		}
		id = 0
		for _, f := range folders {
			if f.Name == name {
				id = f.ID
			}
		}
		if id == 0 {
			return 0, fmt.Errorf("%s: %w", name, errAbsent)
		}
	}
	return id, nil
}

// copies are the documents of the service that were copied into IN: those of a folder, or one.
func (s *server) copies(ctx context.Context, name string) ([]document, error) {
	in := []string{"IN", name}
	single := strings.HasSuffix(name, bigSuffix)
	if single {
		in = in[:1]
	}
	id, err := s.find(ctx, in...)
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	documents, err := s.documents(ctx, id)
	return slices.DeleteFunc(documents, func(d document) bool { return single && d.Name != name }), err
}

// arrivedAtService asks the service for what was copied in. It lists a document when that is
// whole and synced, also where it tells no sizes.
func arrivedAtService(ctx context.Context, s *session, name string) (files int, bytes int64, err error) {
	documents, err := s.server.copies(ctx, name)
	for _, d := range documents {
		bytes += d.Size
	}
	if bytes == 0 && len(documents) > 0 {
		bytes = untold
	}
	return len(documents), bytes, err
}

// weighAtService reads what was copied in, and wants so many bytes.
func weighAtService(ctx context.Context, s *session, name string, want int64) error {
	documents, err := s.server.copies(ctx, name)
	var got weight
	for _, d := range documents {
		if err == nil {
			err = s.server.get(ctx, contentOf(d), &got)
		}
	}
	if err == nil && int64(got) != want {
		err = fmt.Errorf("the service has %d bytes, want %d", got, want)
	}
	return err
}

// weight counts what is written to it.
type weight int64

func (w *weight) Write(b []byte) (int, error) {
	*w += weight(len(b))
	return len(b), nil
}

// contentOf is where the service has the bytes of a document.
func contentOf(d document) string { return fmt.Sprintf("document/%d/pdf?original=true", d.ID) }

// statusRequests counts what the mount has asked its service, by operation.
func statusRequests(ctx context.Context, s *session) (map[string]int, error) {
	answer, err := machine.Run(ctx, `cat "$MNT/.archivefs/status.json"`, s.env, 10*time.Second)
	if err != nil {
		return nil, err
	}
	var status struct {
		Requests []struct {
			Operation string
			Requests  int
		}
	}
	if err := json.Unmarshal([]byte(answer.Output), &status); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, r := range status.Requests {
		counts[r.Operation] = r.Requests
	}
	return counts, nil
}
