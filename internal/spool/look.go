package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// verdict is what a look at the archive shows. The zero value says that what was sent is not there.
type verdict struct {
	found bool
	id    archive.ID
	open  []archive.ID // documents that may or may not be it
	err   error        // why nothing could be seen
}

// errUndecided says that it cannot be found out whether the archive has an upload, not by another look either.
var errUndecided = errors.New("it may be archived already")

// failure is why, by this look, the upload may not be sent again; nil when it is absent. cause
// is the end of the attempt that led to the look.
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
		texts[i] = id.String()
	}
	return strings.Join(texts, " or ")
}

// findOut looks until it is clear whether what was sent arrived, or patience ends. A document can be listed late, so it
// is absent only when looks over some time do not show it. Where the service had said that it did not take it, two
// looks are enough: a proxy may say so after the service took it. The first of them comes at once, because a service
// that does not even answer that is not waited for.
func (d *delivery) findOut(ctx context.Context, cause error) verdict {
	p := &d.patience
	p.start()
	quick := declined(cause)
	since := p.now()
	for absent := 0; ; {
		v := d.looks(context.WithoutCancel(ctx))
		switch {
		case v.found:
			d.log.Infof("found as document %s after: %v", v.id, cause)
			return v
		case v.err != nil:
			if !archive.Away(v.err) || !p.obey(ctx, v.err, p.now()) {
				return v
			}
		case len(v.open) > 0:
			d.open = v.open
			return v
		default:
			absent++
			if quick && absent == 1 && p.obey(ctx, cause, since) {
				continue
			}
			left := LookFor(p.policy.RetryFor) - p.now().Sub(since)
			if absent > 1 && (quick || left <= 0) || !p.pause(ctx, left) {
				return v
			}
		}
	}
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
	for _, id := range r.Open { // it may be that wherever it is now
		if !slices.ContainsFunc(docs, func(doc archive.Document) bool { return doc.ID == id }) {
			v.open = append(v.open, id)
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
		return nil, err
	}
	known := make(map[archive.ID]bool, len(r.Baseline))
	for _, id := range r.Baseline {
		known[id] = true
	}
	docs = slices.DeleteFunc(slices.Clone(docs), func(doc archive.Document) bool {
		return known[doc.ID] || !r.mayBeNamed(doc.Name)
	})
	exact := slices.DeleteFunc(slices.Clone(docs), func(doc archive.Document) bool { return doc.Name != r.SentName })
	rest := slices.DeleteFunc(docs, func(doc archive.Document) bool { return doc.Name == r.SentName })
	return append(exact, rest...), nil
}

// identify finds the id of a document whose upload succeeded without telling it, 0 if that is not certain. A
// service can list it late, so it is looked for as long as after an end in doubt.
func (d *delivery) identify(ctx context.Context) archive.ID {
	p := &d.patience
	p.start()
	since := p.now()
	for {
		v := d.looks(context.WithoutCancel(ctx))
		left := LookFor(p.policy.RetryFor) - p.now().Sub(since)
		switch {
		case len(v.open) == 1 && v.err == nil && !d.u.rec.Load().Split:
			return v.open[0]
		case v.found || v.err != nil || len(v.open) > 0 || left <= 0 || !p.pause(ctx, left):
			return v.id
		}
	}
}

// lookReplaced compares an inbox document's content with what was sent for it. A document that
// is gone was not replaced, which matters only while the upload still is to replace it.
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
	return fmt.Errorf("document %s, which it replaces, is gone: %w", doc, err)
}

// likeness says whether a document is the one that was sent.
type likeness uint8

const (
	other   likeness = iota // for certain not
	ours                    // for certain
	unclear                 // cannot be found out
)

// examine decides about one document that came after the baseline. An idempotency key made up
// here decides alone; where it was lost (errMissed), the content does. An external id of the
// user's own may be on other documents too, and a service may show none: then other content
// excludes, and equal content together with the user's id confirms. An e-mail becomes documents
// of other content, so there content says nothing. The error says that the service could not be asked.
func (d *delivery) examine(ctx context.Context, r *Record, doc archive.ID) (likeness, error) {
	id, err := d.externalID(ctx, doc)
	same, lost := true, r.SentID == ""
	switch {
	case err != nil:
	case lost && r.Split:
		return unclear, nil
	case lost && (id == "" || strings.HasPrefix(id, idPrefix)): // not shown, or made up here
		same, err = d.sameContent(ctx, r, doc)
	case id == r.SentID && r.ExternalID == "":
		return ours, nil
	case id != "" && id != r.SentID:
		return other, nil
	case r.Split:
		return unclear, nil
	default:
		same, err = d.sameContent(ctx, r, doc)
	}
	switch {
	case archive.Away(err):
		return unclear, err
	case err != nil:
		return unclear, nil
	case !same:
		return other, nil
	case id == r.SentID, lost:
		return ours, nil
	}
	return unclear, nil
}

// Identify finds which of some documents an upload became that the service confirmed without telling its id: the one
// whose data show the idempotency key that was made up for it. Its record then has the id. 0 when none is certain.
func Identify(ctx context.Context, u *Upload, a Archive, docs []archive.ID) archive.ID {
	id, _ := deliver(ctx, u, Policy{}, onUnlisted, func(d *delivery) (archive.ID, error) {
		d.a = a
		r := u.rec.Load()
		if r.ExternalID != "" || r.SentID == "" || r.Split {
			return 0, nil
		}
		for _, doc := range docs {
			if id, err := d.externalID(ctx, doc); err == nil && id == r.SentID {
				return d.confirm(ctx, doc)
			}
		}
		return 0, nil
	})
	return id
}

// externalID returns the external id that a document shows, empty when the service shows none or lacks the operation.
func (d *delivery) externalID(ctx context.Context, doc archive.ID) (string, error) {
	data, err := d.a.Data(ctx, doc)
	if archive.KindOf(err) == archive.KindUnsupported {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("data of document %s: %w", doc, err)
	}
	return data.ExternalID, nil
}

// sameContent reports whether the original of a document is what was sent.
func (d *delivery) sameContent(ctx context.Context, r *Record, doc archive.ID) (bool, error) {
	c, err := d.a.Content(ctx, archive.ContentRequest{Document: doc, Representation: archive.Original})
	if err != nil {
		return false, fmt.Errorf("original of document %s: %w", doc, err)
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
		return false, fmt.Errorf("original of document %s: %w", doc, err)
	}
	return n == r.Size && sum == r.SentSHA256, nil
}

// recognise finds out whether the document that the service answered with is one that it had
// before, as one of the same external id may be (specification, endpoint 3). Such a document
// holds what was sent, or else the service dropped what was sent: that is an error. So is a
// service that is away, after it was asked for as long as patience lasts: then nobody knows.
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
			return fmt.Errorf("whether the archive had document %s before is not known: %w", id, err)
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
		d.log.Infof("that document %s holds the same is not known: %v", id, err) // the service says so
	case !same:
		return fmt.Errorf("the service answered with %s (document %s), which it had before and which holds something else: "+
			"another external-id, or force-new-document, makes a new one", d.had, id)
	}
	return nil
}

// knownBefore reports whether the folder held the document before this was sent.
func (d *delivery) knownBefore(r *Record, id archive.ID) (name string, known bool) {
	if i := slices.IndexFunc(d.listed, func(doc *archive.Document) bool { return doc.ID == id }); i >= 0 {
		return d.listed[i].Name, true
	}
	return r.SentName, r.SentReplace == 0 && slices.Contains(r.Baseline, id)
}

// liesElsewhere reports whether the document is in another folder than this was sent to, which
// only an external id of the user's own can lead to. The error says that the service is away.
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

// Policy says how long a delivery goes on.
type Policy struct {
	// RetryFor bounds looking and repeating after the first end in doubt. A service that
	// asks to wait (Retry-After) extends it by up to retry.MaxRetryAfter altogether.
	RetryFor time.Duration
	// Attempts bounds how often the bytes are sent, at least once.
	Attempts int
	// Queue keeps an upload that the service cannot take now in the queue: it stays committed, or sending when it may
	// have arrived, instead of failed. A Retry-After is left to the owner of the queue then.
	Queue bool
}

const (
	foregroundAttempts = 4
	firstWait          = 200 * time.Millisecond // doubled up to longestWait
	longestWait        = 5 * time.Second
	longestLook        = 30 * time.Second
	mostAsked          = 5 // times for what else came of an e-mail, after the first
)

// patience is what is left of a policy in one delivery.
type patience struct {
	policy Policy
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	budget *retry.Budget // nil until the first end in doubt
	pauses int           // so far
}

// start begins the budget, the first time it is called.
func (p *patience) start() {
	if p.budget == nil {
		p.budget = retry.NewBudget(p.now(), p.policy.RetryFor)
	}
}

// restart has the next look begin another budget.
func (p *patience) restart() { p.budget, p.pauses = nil, 0 }

// LookFor is how long a caller that repeats for retryFor looks for a document before it counts
// as absent: a folder may list it late.
func LookFor(retryFor time.Duration) time.Duration { return min(retryFor/2, longestLook) }

// next is how long the next pause is.
func (p *patience) next() time.Duration {
	return retry.Backoff{First: firstWait, Longest: longestWait}.After(p.pauses + 1)
}

// pause waits, longer each time but at most for most, where that is above 0. It is false when ctx is done.
func (p *patience) pause(ctx context.Context, most time.Duration) bool {
	d := p.next()
	p.pauses++
	if most > 0 {
		d = min(d, most)
	}
	return p.sleep(ctx, d) == nil
}

// obey waits before the service is asked again after err, its answer at that time, as long as
// it asked for. It is false when there is no time left for that, or ctx is done.
func (p *patience) obey(ctx context.Context, err error, at time.Time) bool {
	asked := archive.RetryAfter(err)
	switch {
	case asked == 0:
		return p.next() <= p.budget.Left(p.now()) && p.pause(ctx, longestWait)
	case p.policy.Queue, p.budget.Left(at) < 0, !p.budget.Grant(asked):
		p.budget.Spend()
		return false
	}
	return p.sleep(ctx, max(asked-p.now().Sub(at), firstWait)) == nil
}

// mayRepeat reports whether the bytes may be sent once more after sent times.
func (p *patience) mayRepeat(ctx context.Context, sent int) bool {
	return ctx.Err() == nil && sent < p.policy.Attempts && p.budget.Left(p.now()) > 0
}
