package store_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// The database crashes several times while documents are added: every document whose addition succeeded
// exists once, and no others.
func TestWhatIsSaidOfAChangeIsTrueAcrossACrash(t *testing.T) {
	server := pgtest.Start(t)
	s := openURL(t, server.Database(t))
	inbox := folder(t, s, store.Folder{Name: "I", Inbox: true})
	var added, refused sync.Map
	var done atomic.Int64
	enough, stop := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("%d.%d", worker, n)
				d := store.Document{Folder: inbox, Name: name, Digest: "d", Notes: []archive.Note{{Text: name}}}
				if _, err := s.AddDocuments(t.Context(), []store.Document{d, d}, false); err != nil {
					refused.Store(name, err)
				} else {
					added.Store(name, true)
				}
				if done.Add(1)%100 == 0 {
					enough <- struct{}{}
				}
			}
		})
	}
	for range 3 {
		<-enough
		if err := server.Crash(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	go func() { wg.Wait(); close(enough) }()
	for range enough { // until all have ended
	}
	found := map[string]int{}
	err := s.List(t.Context(), store.Query{Folder: inbox}, func(d store.Listed) error { found[d.Name]++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	refused.Range(func(name, err any) bool {
		t.Logf("%s was refused: %v", name, err)
		if strings.Contains(fmt.Sprint(err), "does not tell") {
			delete(found, name.(string)) // of this test
		}
		return true
	})
	added.Range(func(name, _ any) bool {
		if n := found[name.(string)]; n != 2 { // of this test
			t.Errorf("%s is there %d times, of 2", name, n)
		}
		delete(found, name.(string)) // of this test
		return true
	})
	if len(found) != 0 {
		t.Errorf("said not to be added, and there: %v", found)
	}
}

// wire relays a connection between a client and the server, and cuts it at a commit: before the server
// gets the request, or before the client gets the answer.
type wire struct {
	socket string
	cut    atomic.Int64 // beforeCommit, afterCommit or zero
}

const beforeCommit, afterCommit = 1, 2

// newWire returns the URL of the same database through a wire.
func newWire(t *testing.T, to string) (*wire, string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	values := u.Query()
	w := &wire{socket: filepath.Join(values.Get("host"), ".s.PGSQL.5432")}
	dir := t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")) //nolint:noctx // it is closed below
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { w.join(client) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); wg.Wait() })
	values.Set("host", dir)
	u.RawQuery = values.Encode()
	return w, u.String()
}

func (w *wire) join(client net.Conn) {
	server, err := net.Dial("unix", w.socket) //nolint:noctx // it is closed below
	if err != nil {
		_ = client.Close()
		return
	}
	var wg sync.WaitGroup
	var deaf atomic.Bool
	wg.Go(func() {
		defer func() { _ = client.Close() }()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if deaf.Load() || err != nil {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			break
		}
		if bytes.Contains(bytes.ToLower(buffer[:n]), []byte("commit\x00")) {
			switch w.cut.Swap(0) {
			case beforeCommit:
				n = 0
			case afterCommit:
				deaf.Store(true)
			}
		}
		if n == 0 {
			break
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			break
		}
		if deaf.Load() {
			_, _ = io.Copy(io.Discard, io.LimitReader(client, 1)) // until the other side has cut it
			break
		}
	}
	_ = server.Close()
	wg.Wait()
}

// If the connection is lost at the commit, the store finds out whether the change was made, and makes it
// exactly once.
func TestACommitWithoutAnAnswer(t *testing.T) {
	for name, cut := range map[string]int64{"lost": beforeCommit, "made": afterCommit} {
		t.Run(name, func(t *testing.T) {
			w, url := newWire(t, pgtest.Database(t))
			s := openURL(t, url)
			inbox := folder(t, s, store.Folder{Name: "I", Inbox: true})
			w.cut.Store(cut)
			ids, err := s.AddDocuments(t.Context(), []store.Document{{Folder: inbox, Name: "d"}}, false)
			if got := listed(t, s, store.Query{Folder: inbox}); err != nil || len(got) != 1 || got[0] != ids[0] || w.cut.Load() != 0 {
				t.Errorf("added %v, %v; there is %v", ids, err, got)
			}
		})
	}
}
