package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// verdict is what a look at the archive shows. The zero value says that what was sent is
// not there.
type verdict struct {
	found bool
	id    archive.ID
	// open are documents that may be it; nothing tells.
	open []archive.ID
	// err: it could not be looked.
	err error
}

// errUndecided says that nothing tells whether the archive has an upload; another look
// would not either.
var errUndecided = errors.New("it may be archived already")

// failure is why, by this look, the upload neither is there nor may be sent again; nil
// when it is absent. cause is the end of the attempt that led to the look.
func (v verdict) failure(cause error) error {
	switch {
	case waits(v.err):
		return fmt.Errorf("it is not known whether it was archived: %w; and the archive could not be asked: %w", cause, v.err)
	case v.err != nil:
		return fmt.Errorf("%w: %w; %w", errUndecided, cause, v.err)
	case len(v.open) > 0:
		return fmt.Errorf("%w, as document %s: %w", errUndecided, joinIDs(v.open), cause)
	}
	return nil
}

func joinIDs(ids []archive.ID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = fmt.Sprint(int64(id))
	}
	return strings.Join(texts, " or ")
}

// settle looks until it is clear whether what was sent arrived, or patience ends. A
// document can come later than the first look, so it is absent only when looks over some
// time do not show it. Where the service had said that it did not take it, two looks are
// enough: a proxy may say so after the service took it. The first of them comes at once,
// because nobody waits for a service that does not even answer that.
func (d *delivery) settle(ctx context.Context, cause error) verdict {
	p := &d.patience
	p.start()
	quick := declined(cause)
	since := p.now()
	for absent := 0; ; {
		v := d.looks(context.WithoutCancel(ctx))
		switch {
		case v.found:
			d.log.Infof("found as document %d after: %v", v.id, cause)
			return v
		case v.err != nil:
			if !archive.Away(v.err) || !p.obey(ctx, v.err, p.now()) {
				return v
			}
		case len(v.open) > 0:
			return v
		default:
			absent++
			if quick && absent == 1 && p.obey(ctx, cause, since) {
				continue
			}
			left := Settling(p.policy.RetryFor) - p.now().Sub(since)
			if absent > 1 && (quick || left <= 0) || !p.pause(ctx, left) {
				return v
			}
		}
	}
}

// errRefused stands for the end of an earlier delivery that failed.
var errRefused = errors.New("an earlier attempt to send it failed")

// lookRefused looks once for what the service refused in an earlier delivery: it, or a
// proxy before it, can refuse what it has taken. Where it cannot be looked at all, as in a
// folder that is gone, the refusal holds.
func (d *delivery) lookRefused(ctx context.Context) verdict {
	v := d.looks(context.WithoutCancel(ctx))
	if !waits(v.err) {
		v.err = nil
	}
	return v
}

// look looks once for what the record says was sent.
func (d *delivery) look(ctx context.Context) verdict {
	r := d.u.rec.Load()
	if r.SentReplace != 0 {
		return d.lookReplaced(ctx, r)
	}
	docs, err := d.arrivals(ctx, r)
	if err != nil {
		return verdict{err: err}
	}
	var v verdict
	for _, doc := range docs {
		switch is, err := d.examine(ctx, r, doc.ID); {
		case archive.KindOf(err) == archive.KindTimeout:
			return verdict{err: err} // the others would take as long
		case err != nil:
			v.err = err
		case is == ours:
			return verdict{found: true, id: doc.ID}
		case is == unclear:
			v.open = append(v.open, doc.ID)
		}
	}
	return v
}

// arrivals lists the folder afresh, without a filter, and returns what may be the upload:
// documents that are not in the baseline and have its name, those of exactly the name
// first. All documents not in the baseline where several can be made of it.
func (d *delivery) arrivals(ctx context.Context, r *Record) ([]archive.Document, error) {
	docs, err := d.a.Documents(ctx, r.SentFolder, archive.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the folder: %w", err)
	}
	known := make(map[archive.ID]bool, len(r.Baseline))
	for _, id := range r.Baseline {
		known[id] = true
	}
	docs = slices.DeleteFunc(slices.Clone(docs), func(doc archive.Document) bool {
		return known[doc.ID] || !r.mayBeNamed(doc.Name)
	})
	slices.SortStableFunc(docs, func(a, b archive.Document) int {
		return rank(b.Name == r.SentName) - rank(a.Name == r.SentName)
	})
	return docs, nil
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// identify finds the id of a document whose upload succeeded without telling it, 0 when it
// cannot be told. A service can list it late, so it is looked for as long as after an end
// in doubt.
func (d *delivery) identify(ctx context.Context) archive.ID {
	p := &d.patience
	p.start()
	since := p.now()
	for {
		id, late := d.lookForID(context.WithoutCancel(ctx))
		left := Settling(p.policy.RetryFor) - p.now().Sub(since)
		if !late || left <= 0 || !p.pause(ctx, left) {
			return id
		}
	}
}

// lookForID looks once for the document that identify finds. late says that the folder
// lists none yet that may be the one.
func (d *delivery) lookForID(ctx context.Context) (id archive.ID, late bool) {
	r := d.u.rec.Load()
	docs, err := d.arrivals(ctx, r)
	if err != nil {
		d.log.Infof("archived, its id is not known: %v", err)
		return 0, false
	}
	var shown, silent []archive.ID
	for _, doc := range docs {
		switch id, err := d.externalID(ctx, doc.ID); {
		case err != nil:
			d.log.Infof("archived, its id is not known: %v", err)
			return 0, false
		case id == r.SentID:
			shown = append(shown, doc.ID)
		case id == "" && doc.Name == r.SentName:
			silent = append(silent, doc.ID)
		}
	}
	switch {
	case len(shown) == 1, len(shown) > 1 && r.ExternalID == "":
		return shown[0], false
	case len(shown) == 0 && len(silent) == 1 && !r.Split:
		return silent[0], false
	}
	return 0, len(shown)+len(silent) == 0
}

// lookReplaced compares an inbox document's content with what was sent for it. Where that
// document is gone nothing was replaced for a file that is to become another document since.
func (d *delivery) lookReplaced(ctx context.Context, r *Record) verdict {
	same, err := d.sameContent(ctx, r, r.SentReplace)
	gone := archive.KindOf(err) == archive.KindNotFound
	switch {
	case gone && r.Replace != r.SentReplace:
		return verdict{}
	case gone:
		return verdict{err: goneError(r.SentReplace, err)}
	case err != nil && archive.Away(err):
		return verdict{err: err}
	case err != nil:
		return verdict{err: fmt.Errorf("its content cannot be compared: %w", err)}
	case same:
		return verdict{found: true, id: r.SentReplace}
	}
	return verdict{}
}

func goneError(doc archive.ID, err error) error {
	return fmt.Errorf("document %d, which it replaces, is gone: %w", doc, err)
}
