package node

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/view"
)

// newKernel is what the nodes of a mount share, in one that the kernel does not have, and a directory
// that nobody has listed.
func newKernel(t testing.TB, kind tree.DirKind, service *remotetest.Folder) (*Kernel, *tree.Dir) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	started := time.Now()
	now := func() time.Time { return started }
	k := &Kernel{Trust: 1 << 62, Memory: new(background.Memory)}
	k.Staging = staging.New(staging.Config{WhileAlive: WhileAlive, People: staging.People{Of: Person}}, now)
	k.Contents = content.New(context.Background(), content.Config{
		Config: remote.Config{
			Archive: service, TTL: time.Hour, Listings: 16, Log: log, Now: now, Work: new(background.Work), Answers: k.Staging.Queue.Wake,
		},
		Mode: view.Original, Memory: k.Memory, Staged: &k.Staging.Placing, NewLeaf: k.Staging.LeafFor, Changed: k.ForgetNames,
	})
	k.Staging.Contents = k.Contents
	return k, tree.NewDir(k.Tree, kind, 77, k.Inodes.Folder(77), k.Root, "Akten")
}

// holds is a folder that has been listed.
func holds(t testing.TB, documents ...archive.Document) (*Kernel, *tree.Dir) {
	t.Helper()
	k, d := newKernel(t, tree.FolderDir, &remotetest.Folder{Docs: documents})
	if err := d.Tree.Load(t.Context(), d, tree.NeedListing); err != nil {
		t.Fatal(err)
	}
	return k, d
}
