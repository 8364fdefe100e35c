package server

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// How much is added at a time: enough that the disk is seldom waited for. Each document
// holds a file open until then.
const (
	batchDocuments = 512
	batchFolders   = 4096
	batchBytes     = 256 << 20
)

// batch is what is added next.
type batch struct {
	folders    []store.Folder
	branches   []*branch // of the folders
	candidates []candidate
	bytes      int64
}

func (b *batch) folder(in *branch, name string) *branch {
	b.folders = append(b.folders, store.Folder{Parent: in.id, Name: name})
	made := &branch{id: -archive.ID(len(b.folders)), depth: in.depth + 1}
	b.branches = append(b.branches, made)
	return made
}

func (b *batch) file(c candidate) {
	b.candidates = append(b.candidates, c)
	b.bytes += c.size
}

func (b *batch) full() bool {
	return len(b.candidates) >= batchDocuments || len(b.folders) >= batchFolders || b.bytes >= batchBytes
}

// flush adds the batch, all or nothing of it, and begins a new one.
func (im *importer) flush(ctx context.Context) error {
	defer im.intake.activity.change()
	defer im.intake.activity.begin()()
	b := im.batch
	im.batch = batch{}
	outcomes, err := im.receive(ctx, b.candidates)
	defer func() {
		for _, o := range outcomes {
			if o.received != nil {
				im.intake.discard(*o.received)
			}
		}
	}()
	if err != nil {
		return err
	}
	now := time.Now()
	var staged []blob.Staged
	var documents []store.Document
	added := Imported{Folders: len(b.folders)}
	for i, c := range b.candidates {
		switch o := outcomes[i]; {
		case o.skipped != "":
			im.skip(c.path, o.skipped)
		case o.received == nil:
			added.Present++
		default:
			staged = append(staged, o.received.Staged)
			documents = append(documents, o.received.describe(c.document(now)))
			added.Documents++
			added.Bytes += o.received.Size()
		}
	}
	if err := im.add(ctx, b, staged, documents); err != nil {
		return err
	}
	im.Folders, im.Documents = im.Folders+added.Folders, im.Documents+added.Documents
	im.Present, im.Bytes = im.Present+added.Present, im.Bytes+added.Bytes
	return nil
}

// add makes the contents durable and then adds folders and documents in one transaction.
func (im *importer) add(ctx context.Context, b batch, staged []blob.Staged, documents []store.Document) error {
	if len(b.folders)+len(documents) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // begun, it is finished
	return im.intake.vault.keep(ctx, staged, func(ctx context.Context) error {
		ids, err := im.catalog.AddBatch(ctx, b.folders, documents)
		if err != nil {
			return err
		}
		for i, made := range b.branches {
			made.id = ids[i]
		}
		return nil
	})
}

// receive reads the files, some at a time. The outcomes, of which those that were reached
// are filled in also beside an error, are in the files' order.
func (im *importer) receive(ctx context.Context, candidates []candidate) ([]fileOutcome, error) {
	outcomes := make([]fileOutcome, len(candidates))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0)) // some read while others wait for the disk
	for i, c := range candidates {
		group.Go(func() (err error) {
			outcomes[i], err = im.take(ctx, c)
			if im.told.Done != nil && err == nil {
				im.told.Done(c.size)
			}
			return err
		})
	}
	err := group.Wait()
	return outcomes, err
}
