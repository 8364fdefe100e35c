package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/archivefs/archivefs/internal/server/store"
)

// A document is recorded while its content is being published, and committed only after that.
func TestOnlyTheCommitWaitsForABriefPublish(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx := t.Context()
		inbox := folder(t, s, store.Folder{Name: "I", Inbox: true})
		keep := func(publish, record func() error) error {
			return s.Uses.Keep(ctx, store.Keeping{
				Digests: []string{"d"}, Brief: true,
				Publish: func(context.Context) error { return publish() },
				Kept:    func(context.Context, ...string) (bool, error) { return true, nil },
				Record: func(in store.Scope) error {
					if err := record(); err != nil {
						return err
					}
					_, err := s.In(in).AddDocuments(ctx, []store.Document{{Folder: inbox, Name: "d", Digest: "d"}}, false)
					return err
				},
			})
		}
		nothing := func() error { return nil }
		errBroken := errors.New("broken")
		broken := func() error { return errBroken }

		if err := keep(broken, nothing); !errors.Is(err, errBroken) {
			t.Errorf("a content that is not published: %v", err)
		}
		if err := keep(nothing, broken); !errors.Is(err, errBroken) {
			t.Errorf("a document that is not recorded: %v", err)
		}
		if ids := listed(t, s, store.Query{Folder: inbox}); len(ids) != 0 {
			t.Errorf("after failures there are %v", ids)
		}

		begun, release := make(chan bool), make(chan bool)
		kept := make(chan error, 1)
		go func() { kept <- keep(func() error { begun <- true; <-release; return nil }, nothing) }()
		<-begun
		if ids := listed(t, s, store.Query{Folder: inbox}); len(ids) != 0 {
			t.Errorf("before the content is published there are %v", ids)
		}
		release <- true
		if err := <-kept; err != nil {
			t.Error(err)
		}
		if ids := listed(t, s, store.Query{Folder: inbox}); len(ids) != 1 {
			t.Errorf("after that there are %v", ids)
		}
	})
}
