package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// The database crashes while files are uploaded. Uploads that were answered 200 exist with their content,
// under the returned id; failed ones are repeated with the same external id until they succeed. In the
// end each file is one document, and no content is unused.
func TestUploadsWhileTheDatabaseCrashes(t *testing.T) {
	t.Parallel()
	database := pgtest.Start(t)
	url := database.Database(t)
	h := start(t, func(o *server.Options) { o.Database = url })
	o := furnish(t, h)
	before := h.kept()
	const workers, files = 4, 30
	var wg sync.WaitGroup
	var taken, refused atomic.Int64
	third := make(chan struct{}, workers*files)
	var mu sync.Mutex
	added := map[archive.ID]string{} // guarded by mu
	for worker := range workers {
		wg.Go(func() {
			for n := range files {
				name := fmt.Sprintf("%d-%d.txt", worker, n)
				a := h.upload(name, name, "target-folder-id", text(o.spare), "external-id", name)
				for ; a.status != http.StatusOK; refused.Add(1) {
					if a.status < 500 {
						t.Errorf("%s: %d %s", name, a.status, a.body)
						return
					}
					a = h.upload(name, name, "target-folder-id", text(o.spare), "external-id", name)
				}
				id, err := strconv.ParseInt(a.body, 10, 64)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				added[archive.ID(id)] = name
				mu.Unlock()
				if taken.Add(1)%(workers*files/3) == 0 {
					third <- struct{}{}
				}
			}
		})
	}
	for range 2 {
		<-third
		if err := database.Crash(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	t.Logf("%d uploads were refused meanwhile", refused.Load())

	var found []string
	for _, d := range h.list(o.spare) {
		found = append(found, d.Name)
		if content := h.get("/document/" + text(d.ID) + "/pdf?original=true").body; added[d.ID] != d.Name || content != d.Name {
			t.Errorf("document %d is %s with content %q, and was added as %q", d.ID, d.Name, content, added[d.ID])
		}
	}
	slices.Sort(found)
	if n := len(slices.Compact(found)); n != workers*files || len(found) != n {
		t.Errorf("%d documents of %d names, want %d", len(found), n, workers*files)
	}
	if got := h.kept(); got != before+workers*files {
		t.Errorf("%d contents, want %d", got, before+workers*files)
	}
}
