package running

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/sample"
	"github.com/archivefs/archivefs/internal/server"
)

// Fill adds the sample to an empty archive if the options ask for it; otherwise one mandator and
// one inbox, so that there is a place for files.
func Fill(ctx context.Context, srv *server.Server, withSample bool, log logrus.FieldLogger) error {
	empty, err := srv.Empty(ctx)
	if err != nil || !empty {
		return err
	}
	if !withSample {
		_, mandator := srv.AddMandator(ctx, "My Archive")
		_, inbox := srv.AddInbox(ctx, 1, "Inbox")
		return errors.Join(unlessMade(mandator), unlessMade(inbox))
	}
	made, err := sample.Load(ctx, sampleTarget{srv})
	if err != nil {
		return fmt.Errorf("make the sample archive: %w", err)
	}
	log.Info("made the sample archive: " + inWords(made))
	return nil
}

// unlessMade ignores the error of a folder that another instance of the service has just created in
// the same empty archive.
func unlessMade(err error) error {
	if archive.KindOf(err) == archive.KindConflict {
		return nil
	}
	return err
}

func inWords(s sample.Summary) string {
	return fmt.Sprintf("%s, %s, %s, %s; %s", command.Plural(s.Mandators, "mandator"), command.Plural(s.Folders, "folder"),
		command.Plural(s.Inboxes, "inbox"), command.Plural(s.Documents, "document"), command.Size(s.Bytes))
}

// sampleTarget loads the sample into the server.
type sampleTarget struct{ *server.Server }

// AddDocument implements sample.Target.
func (t sampleTarget) AddDocument(ctx context.Context, d sample.Document, content io.Reader) (archive.ID, error) {
	return t.Server.AddDocument(ctx, server.NewDocument(d), content)
}
