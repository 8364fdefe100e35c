package keep

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/retry"
	"github.com/archivefs/archivefs/internal/state"
)

const (
	// untaggedAge is the age from which a content that can change, and has no ETag, is downloaded
	// again although its listing says nothing new.
	untaggedAge = 24 * time.Hour
	// share bounds the part of the time that listing takes: one in so many.
	share = 20
	// soon is the pause after a round that found the disk full.
	soon = time.Minute
	// asProgram is the process id under which the keeper walks the archive, as prefetches see it.
	asProgram = math.MaxUint32
)

// run makes rounds until nothing is marked, or the mount ends.
func (k *Keeper) run() {
	for k.ctx.Err() == nil {
		ctx, stop := context.WithCancel(k.ctx)
		if !k.begin(stop) {
			stop()
			return
		}
		began := time.Now()
		p := k.list(ctx)
		listing := time.Since(began)
		pause := max(k.Interval, share*listing)
		if ctx.Err() == nil {
			pause = min(pause, max(listing, k.fetch(ctx, p)))
		}
		stop()
		k.rest(pause)
	}
}

// begin begins a round, which stop ends. False: nothing is marked, and nothing is left to let go.
func (k *Keeper) begin(stop context.CancelFunc) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.marks) == 0 && !k.changed {
		k.running, k.stopRound, k.status, k.total, k.found = false, nil, Status{}, nil, nil
		return false
	}
	if k.changed {
		k.status.State, k.status.Why = Listing, ""
	}
	k.changed, k.stopRound = false, stop
	return true
}

// rest waits until marks are changed, at most for pause. If the last round waits for the service, it
// ends when that answers.
func (k *Keeper) rest(pause time.Duration) {
	k.mu.Lock()
	state, changed := k.status.State, k.changed
	if len(k.marks) == 0 {
		pause = 0
	}
	k.mu.Unlock()
	if changed || pause <= 0 {
		return
	}
	k.pause(k.ctx, retry.Backoff{First: pause, Longest: pause, Less: 0.1}.After(1), state == Waiting)
}

// pause waits for so long, until ctx ends or marks are changed. If it waits for the service, any answer
// of that ends it, too, but not in the first second: the service may answer others alone.
func (k *Keeper) pause(ctx context.Context, most time.Duration, forService bool) {
	var back chan struct{}
	limit, first := time.After(most), time.After(backoff.After(1))
	for {
		select {
		case <-first:
			if forService {
				back = k.back
				k.waiting.Add(1)
				defer k.waiting.Add(-1)
			}
			continue
		case <-limit:
		case <-k.wake:
		case <-back:
		case <-ctx.Done():
		}
		return
	}
}

// plan is what a round found to be kept.
type plan struct {
	keys map[cache.Key]bool
	// pins are the folders whose listings are needed, seen those whose documents were listed.
	pins, seen map[archive.ID]bool
	prints     map[archive.ID]archive.Fingerprint
	todo       []item
	// total counts all documents, and found and marks those of each mark that was found.
	total *Count
	found []*Mark
	marks map[state.KeptID]*Mark
	gone  int // marks that the service does not show
	// partial says that a listing is not there, and may be again. away is why, if the service answers
	// no request, failed if it does.
	partial      bool
	away, failed error
}

// item is a content to be fetched or validated.
type item struct {
	key     cache.Key
	print   archive.Fingerprint // of an archived document, else 0
	size    int64               // archive.SizeUnknown if the service does not tell it
	had     int64               // bytes that are here
	missing bool                // it is not here, or has changed since
	dir     *tree.Dir
	under   []*Count // that count it
}

// list finds out what is to be kept, and lets go what is not.
func (k *Keeper) list(ctx context.Context) *plan {
	p := &plan{
		keys: map[cache.Key]bool{}, pins: map[archive.ID]bool{0: true}, seen: map[archive.ID]bool{}, prints: map[archive.ID]archive.Fingerprint{},
		marks: map[state.KeptID]*Mark{}, total: new(Count),
	}
	for _, visit := range k.locate(ctx, p) {
		visit([]*Count{p.total})
	}
	if ctx.Err() != nil {
		return p
	}
	if !p.partial {
		k.Contents.Content.Kept.LetGo(p.keys)
		k.prints = p.prints
		if k.Known != nil {
			k.Known.Pin(p.pins)
		}
	}
	slices.SortStableFunc(p.todo, func(a, b item) int { return missingFirst(b.missing) - missingFirst(a.missing) })
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total, k.found, k.status.Gone = p.total, p.found, p.gone
	if !p.partial && p.failed == nil && k.Contents.Service.Away() == nil {
		k.status.Listed = k.Contents.Service.Now()
	}
	return p
}

// locate finds the marks, and returns what visits each of them, which has to wait until all are known.
func (k *Keeper) locate(ctx context.Context, p *plan) (visits []func(under []*Count)) {
	ids, marks := k.marked()
	for _, of := range ids {
		for _, at := range marks[of].Line {
			p.pins[at] = true
		}
		d, err := k.find(ctx, of, marks[of])
		if err != nil {
			p.fail(err)
			continue
		}
		if d == nil {
			p.gone++
			continue
		}
		m := &Mark{ID: of.ID, Document: of.Document}
		if of.Document {
			m.Path = pathOf(d, of.ID)
			doc := d.Document(of.ID)
			visits = append(visits, func(under []*Count) { k.add(p, d, doc, under) })
		} else {
			m.Path = "/" + archive.Printable(d.Path())
			visits = append(visits, func(under []*Count) { k.visit(ctx, p, d, under) })
		}
		p.found, p.marks[of] = append(p.found, m), m
	}
	if len(ids) == 0 {
		clear(p.pins)
	}
	return visits
}

func pathOf(d *tree.Dir, doc archive.ID) string {
	return "/" + archive.Printable(d.PathOf(d.ShownAs(doc)))
}

// missingFirst orders what is missing before what is only validated.
func missingFirst(missing bool) int {
	if missing {
		return 1
	}
	return 0
}

func (p *plan) fail(err error) {
	kind := archive.KindOf(err)
	p.partial = p.partial || isAway(err) || archive.Away(err) || kind == archive.KindOther
	if isAway(err) {
		p.away = err
	} else {
		p.failed = err
	}
}

// isAway reports whether an error says that the service serves nobody, and not that it fails at what was requested.
func isAway(err error) bool {
	switch archive.KindOf(err) {
	case archive.KindUnreachable, archive.KindForeign, archive.KindBusy, archive.KindUnauthorized:
		return true
	}
	return false
}

// find returns the directory of a mark, for a document one that shows it; nil if the service does not
// show it any more. It notes where it is.
func (k *Keeper) find(ctx context.Context, of state.KeptID, kept state.Kept) (*tree.Dir, error) {
	d, err := k.follow(ctx, kept)
	if err != nil {
		return nil, err
	}
	if d != nil && of.Document {
		if err := d.Tree.LoadDocuments(ctx, d, tree.NeedNames); err != nil {
			return nil, err
		}
		if d.Document(of.ID) == nil {
			d = nil
		}
	}
	if d != nil || len(kept.Line) == 0 {
		return d, nil
	}
	wanted := map[archive.ID]string{kept.Line[len(kept.Line)-1]: kept.Mandator}
	if of.Document {
		data, err := k.Contents.Service.Archive.Data(ctx, of.ID)
		switch err = k.Contents.Service.Answered(err); {
		case archive.KindOf(err) == archive.KindNotFound:
			return nil, nil
		case err != nil:
			return nil, err
		}
		wanted = map[archive.ID]string{data.Folder: data.Mandator}
	}
	found, err := k.Contents.Locate(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for _, d = range found { // at most one
		if of.Document {
			if err := d.Tree.LoadDocuments(ctx, d, tree.NeedNames); err != nil || d.Document(of.ID) == nil {
				return nil, err
			}
		}
		k.moved(of, d)
	}
	return d, nil
}

// follow returns the directory that a line of folders leads to, nil if one of them is not there.
func (k *Keeper) follow(ctx context.Context, kept state.Kept) (*tree.Dir, error) {
	d := k.Contents.Root
	if archive.InInbox(kept.Mandator) {
		d = d.Get(tree.InboxesName).Dir
	}
	for _, id := range kept.Line {
		if err := d.Tree.LoadFolders(ctx, d, tree.NeedNames); err != nil {
			return nil, err
		}
		if d = d.Tree.Subfolder(d, id); d == nil {
			return nil, nil
		}
	}
	return d, nil
}

// moved notes where a marked folder or document is now.
func (k *Keeper) moved(of state.KeptID, d *tree.Dir) {
	kept := lineOf(d)
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, has := k.marks[of]; !has {
		return
	}
	if err := k.State.SetKept(of, &kept); err != nil {
		k.Contents.Service.Log.Warnf("%v", err)
		return
	}
	k.marks[of] = kept
}

// visit adds the documents in and below a directory, and counts them. It lists them as a program that
// walks would, so that a large tree costs few requests.
func (k *Keeper) visit(ctx context.Context, p *plan, d *tree.Dir, under []*Count) {
	if d.IsLocal() || p.seen[d.ID()] || ctx.Err() != nil {
		return
	}
	under = p.under(state.KeptID{ID: d.ID()}, under)
	p.seen[d.ID()], p.pins[d.ID()] = true, true
	walks := k.Contents.Walks
	walks.Opening(ctx, asProgram, content.Walked{Dir: d, Env: k.Contents}.Line())
	err := d.Tree.Load(ctx, d, tree.NeedNames)
	walks.Opened(asProgram)
	if err != nil {
		p.fail(fmt.Errorf("list /%s: %w", archive.Printable(d.Path()), err))
		return
	}
	k.Contents.Reps.Settle(ctx)
	docs := d.Documents()
	d.Compact()
	for _, doc := range docs {
		k.add(p, d, doc, under)
	}
	for _, sub := range d.Subfolders() {
		k.visit(ctx, p, sub, under)
	}
}

// under adds the count of a folder or document, if that is marked, to those above.
func (p *plan) under(of state.KeptID, above []*Count) []*Count {
	if m := p.marks[of]; m != nil {
		return append(slices.Clip(above), &m.Count)
	}
	return above
}

// add adds a document of a directory, and makes its content stay.
func (k *Keeper) add(p *plan, d *tree.Dir, doc *archive.Document, under []*Count) {
	if doc == nil {
		return
	}
	it := item{
		key:  cache.Key{Document: doc.ID, Representation: k.Contents.Reps.Of(doc.ID)},
		size: archive.SizeUnknown, dir: d, under: p.under(state.KeptID{Document: true, ID: doc.ID}, under),
	}
	k.mu.Lock()
	if rep := k.instead[doc.ID]; rep != 0 {
		it.key.Representation = rep
	}
	k.mu.Unlock()
	if p.keys[it.key] {
		return
	}
	p.keys[it.key] = true
	k.Contents.Content.Kept.Keep(it.key)
	if size, ok := k.Contents.Lengths.Listed(doc, it.key.Representation); ok {
		it.size = size
	}
	changed := false
	if d.Kind().Archives() && it.key.Representation != archive.Data {
		it.print = doc.Fingerprint()
	} else if doc.Listed() {
		changed = k.changedPrint(p, doc)
	}
	held, here := k.Contents.Content.Kept.Held(it.key)
	if here {
		k.compare(it.key, held)
		it.had = held.Size
	}
	it.missing = !here || changed
	for _, c := range it.under {
		c.add(&it)
	}
	if it.missing || k.outdated(&it, held) {
		p.todo = append(p.todo, it)
	}
}

// changedPrint reports whether the listing of a document says something else than in an earlier round.
func (k *Keeper) changedPrint(p *plan, doc *archive.Document) bool {
	p.prints[doc.ID] = doc.Fingerprint()
	before, known := k.prints[doc.ID]
	return known && before != p.prints[doc.ID]
}

// compare finds out whether a content was downloaded again in the last round although it had an ETag and
// has not changed.
func (k *Keeper) compare(key cache.Key, now cache.Held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, validated := k.validated[key]
	delete(k.validated, key)
	if validated && before.Sum != "" && before.Sum == now.Sum && before.Serial != now.Serial {
		k.fickle.Store(true)
	}
}

// outdated reports whether the content of an item has to be validated.
func (k *Keeper) outdated(it *item, held cache.Held) bool {
	age := k.Contents.Service.Now().Sub(held.Fetched)
	switch {
	case it.print != 0:
		return held.Print != it.print && held.Print != archive.Unlisted
	case held.Tagged && !k.fickle.Load():
		return age >= k.Interval/2
	}
	// A listing can be wrong about lengths, so that is a reason only once.
	return it.size >= 0 && it.size != held.Size && held.Fetched.Before(k.Contents.Started) || age >= untaggedAge
}
