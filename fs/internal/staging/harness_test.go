package staging

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/testing/spooltest"
)

// newArea returns the staging area of a mount without a kernel, and a folder that nobody has
// listed.
func newArea(t *testing.T, c Config, service *remotetest.Folder) (*Area, *tree.Dir) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	started := time.Now()
	now := func() time.Time { return started }
	c.Spool = spooltest.Empty(t)
	c.WhileAlive = func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	c.People.Of = func(context.Context) (uint32, bool) { return 1001, true }
	s := New(c, now)
	kept, err := cache.OpenContent(cache.Options{Dir: t.TempDir(), Limit: 1 << 20, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Contents = content.New(t.Context(), content.Config{
		Content: kept,
		Config:  remote.Config{Archive: service, TTL: time.Hour, Listings: 16, Log: log, Now: now, Work: new(background.Work), Answers: s.Queue.Wake},
		Mode:    view.Original, Memory: new(background.Memory),
		Staged: &s.Placing, NewLeaf: s.LeafFor, Changed: func(*tree.Dir, []string) {},
	})
	return s, tree.NewDir(s.Tree, tree.FolderDir, 77, s.Inodes.Folder(77), s.Root, "Akten")
}
