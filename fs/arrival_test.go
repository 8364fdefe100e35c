package fs_test

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// A file can be opened at every moment of its upload, even if no close waits for it.
func TestOpenedWhileItArrives(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	var ids []int64
	for i := range 20 {
		ids = append(ids, f.AddDocument(f.inbox, hostile.Document{Name: strconv.Itoa(i) + ".txt", Content: []byte("old")}))
	}
	m, _ := f.slow(t)
	for i, id := range ids {
		f.arriveWhileOpened(t, m.path("inboxes", "Administrator", strconv.Itoa(i)+".txt"), id)
	}
	heals(t, "the kernel has told of every close", func() bool {
		for _, what := range openFiles() {
			if strings.Contains(what, "/content/") {
				return false
			}
		}
		return true
	})
}

// arriveWhileOpened replaces the content of a document while another goroutine keeps opening it.
func (f *foreign) arriveWhileOpened(t *testing.T, path string, id int64) {
	t.Helper()
	other := get(os.Open(path))(t) // so that no close of this process is the last
	defer func() { must(t, other.Close()) }()
	done := make(chan struct{})
	var opener sync.WaitGroup
	defer opener.Wait()
	defer close(done)
	opener.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			r, err := os.Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	must(t, os.WriteFile(path, []byte("new"), 0o600))
	f.eventuallyHas(t, id, "new")
	heals(t, "it has arrived", func() bool { return attr(t, path, "state") == "inbox" })
}
