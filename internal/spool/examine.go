package spool

import (
	"context"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// likeness says whether a document is the one that was sent.
type likeness uint8

const (
	other   likeness = iota // for certain not
	ours                    // for certain
	unclear                 // nothing tells
)

// examine decides about one document that came after the baseline. An external id made up
// here decides alone. One of the user's own may be on other documents too, and a service
// that shows none tells nothing: there the content can only exclude, and together with the
// user's id confirm. An e-mail becomes documents of other content, which excludes nothing.
// The error says that the service could not be asked.
func (d *delivery) examine(ctx context.Context, r *Record, doc archive.ID) (likeness, error) {
	id, err := d.externalID(ctx, doc)
	switch {
	case archive.Away(err):
		return unclear, err
	case err != nil:
		return unclear, nil
	case id == r.SentID && r.ExternalID == "":
		return ours, nil
	case id != "" && id != r.SentID:
		return other, nil
	case r.Split:
		return unclear, nil
	}
	same, err := d.sameContent(ctx, r, doc)
	switch {
	case archive.Away(err):
		return unclear, err
	case err != nil:
		return unclear, nil
	case !same:
		return other, nil
	case id == r.SentID:
		return ours, nil
	}
	return unclear, nil
}

// Identify finds which of some documents an upload became that the service confirmed without
// telling: the one whose data show the external id that was made up for it. 0: nothing tells
// for certain.
func (s *Spool) Identify(ctx context.Context, u *Upload, a Archive, docs []archive.ID) archive.ID {
	d := &delivery{u: u, a: a}
	r := u.rec.Load()
	if r.ExternalID != "" || r.SentID == "" || r.Split {
		return 0
	}
	for _, doc := range docs {
		if id, err := d.externalID(ctx, doc); err == nil && id == r.SentID {
			return doc
		}
	}
	return 0
}

// externalID returns the external id that a document shows, empty when the service shows
// none or lacks the operation.
func (d *delivery) externalID(ctx context.Context, doc archive.ID) (string, error) {
	data, err := d.a.Data(ctx, doc)
	if archive.KindOf(err) == archive.KindUnsupported {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("data of document %d: %w", doc, err)
	}
	return data.ExternalID, nil
}

// sameContent reports whether the original of a document is what was sent.
func (d *delivery) sameContent(ctx context.Context, r *Record, doc archive.ID) (bool, error) {
	c, err := d.a.Content(ctx, archive.ContentRequest{Document: doc, Representation: archive.Original})
	if err != nil {
		return false, fmt.Errorf("original of document %d: %w", doc, err)
	}
	if c.Body == nil || c.Offset != 0 {
		return false, errors.New("the answer holds no whole content")
	}
	defer c.Body.Close() //nolint:errcheck // read only
	if c.Size != archive.SizeUnknown && c.Size != r.Size {
		return false, nil
	}
	sum, n, err := sumOf(c.Body, r.Size+1)
	if err != nil {
		return false, fmt.Errorf("original of document %d: %w", doc, err)
	}
	return n == r.Size && sum == r.SentSHA256, nil
}
