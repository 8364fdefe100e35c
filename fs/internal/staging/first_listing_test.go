package staging

import (
	"errors"
	"testing"

	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// If a waiting upload is archived during the first listing of its folder, that listing may be
// older. So the next lookup lists the folder again.
func TestFirstListingWhileWhatWaitedIsArchived(t *testing.T) {
	for name, end := range map[string]func(*spool.Upload) error{
		"waits":  func(*spool.Upload) error { return nil },
		"is not": (*spool.Upload).Remove,
	} {
		t.Run(name, func(t *testing.T) {
			service := &remotetest.Folder{}
			s, d := newArea(t, Config{}, service)
			up, err := s.Spool.Create(spool.Record{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = up.WriteAt([]byte("Inhalt"), 0)
			if err = errors.Join(err, up.Commit(false, func(*spool.Record) {}), end(up)); err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			s.waiting[folderRef{id: d.ID()}] = []*spool.Upload{up}
			s.mu.Unlock()
			for _, asked := range []bool{true, name != "waits"} {
				before := service.Lists
				if err := d.Tree.Load(t.Context(), d, tree.NeedNames); err != nil {
					t.Fatal(err)
				}
				if again := service.Lists > before; again != asked {
					t.Errorf("the service was asked: %v, want %v", again, asked)
				}
			}
		})
	}
}
