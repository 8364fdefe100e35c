package spool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// A service can answer an upload with a document that it had before, as one of the same
// external id (specification, endpoint 3; the effect is not told). That document holds what
// was sent, or the service dropped it.

// recognise finds out whether the document that the service answered with is one that it
// had before. The error says that it holds something else, or that the service, which was
// asked again as long as patience lasts, is away: then nobody knows.
func (d *delivery) recognise(ctx context.Context, id archive.ID) error {
	p := &d.patience
	p.start()
	for {
		err := d.recogniseOnce(ctx, id)
		if !archive.Away(err) || !p.obey(ctx, err, p.now()) {
			return err
		}
	}
}

func (d *delivery) recogniseOnce(ctx context.Context, id archive.ID) error {
	r := d.u.rec.Load()
	name, had := d.knownBefore(r, id)
	if !had {
		var err error
		if name, had, err = d.liesElsewhere(ctx, r, id); err != nil {
			return fmt.Errorf("whether the archive had document %d before is not known: %w", id, err)
		}
	}
	if !had {
		return nil
	}
	d.had = archive.Printable(name)
	if name == "" {
		d.had = "a document without a name"
	}
	if r.Split { // an e-mail becomes documents of other content
		return nil
	}
	switch same, err := d.sameContent(ctx, r, id); {
	case archive.Away(err):
		return fmt.Errorf("whether %s, which the archive had before, holds the same is not known: %w", d.had, err)
	case err != nil:
		d.log.Infof("that document %d holds the same is not known: %v", id, err) // the service says so
	case !same:
		return fmt.Errorf("the service answered with %s (document %d), which it had before and which holds something else: "+
			"another external-id, or force-new-document, makes a new one", d.had, id)
	}
	return nil
}

// knownBefore reports whether the folder held the document before this was sent.
func (d *delivery) knownBefore(r *Record, id archive.ID) (name string, known bool) {
	for _, doc := range d.listed {
		if doc.ID == id {
			return doc.Name, true
		}
	}
	return r.SentName, r.SentReplace == 0 && slices.Contains(r.Baseline, id)
}

// liesElsewhere reports whether the document is in another folder than this was sent to.
// Only an external id of the user's own can be that of an older document. The error says that
// the service is away.
func (d *delivery) liesElsewhere(ctx context.Context, r *Record, id archive.ID) (name string, elsewhere bool, err error) {
	if r.ExternalID == "" || r.SentReplace != 0 {
		return "", false, nil
	}
	data, err := d.a.Data(ctx, id)
	switch {
	case archive.Away(err):
		return "", false, err
	case err != nil, data.Folder == 0, data.Folder == r.SentFolder:
		return "", false, nil // nothing says so
	}
	folder := strings.Trim(data.Mandator+"/"+strings.Trim(data.FolderPath, "/"), "/")
	return strings.TrimPrefix(folder+"/"+data.Name, "/"), true, nil
}
