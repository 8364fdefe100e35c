package keep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/internal/retry"
)

const (
	// atOnce is how many contents are fetched at a time.
	atOnce = 2
	// yields is how long a fetch waits, at most, for downloads of programs.
	yields = 5 * time.Second
	// reserve is how many bytes of the disk are left free, for uploads and for everybody else.
	reserve = 256 << 20
	// atService is after how many contents in a row that the service failed to serve, as with 5xx, it
	// seems that it could serve no other either.
	atService = 4
)

// backoff spaces out attempts while the service is away or busy.
var backoff = retry.Backoff{First: time.Second, Longest: 5 * time.Minute, Less: 0.25}

// errDisk says that the disk has no room.
var errDisk = errors.New("the disk of the content cache is full")

type fetching struct {
	k *Keeper

	mu sync.Mutex
	// todo is what nobody fetches yet.
	todo []item // +checklocks:mu
	// failed is the last reason why a content could not be fetched.
	failed error // +checklocks:mu
	// full says that the disk has no room.
	full error // +checklocks:mu
	// failures counts attempts in a row that the service failed.
	failures int // +checklocks:mu
}

// fetch fetches what a round found missing or changed, for as long as the interval of rounds. It
// returns the longest pause until the next round.
func (k *Keeper) fetch(ctx context.Context, p *plan) (pause time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, k.Interval)
	defer cancel()
	f := &fetching{k: k, todo: p.todo, failed: p.failed}
	if len(p.todo) > 0 {
		k.in(Fetching, "")
	}
	var workers sync.WaitGroup
	for range min(atOnce, len(p.todo)) {
		workers.Go(func() { f.work(ctx) })
	}
	workers.Wait()
	if p.away == nil {
		k.aways = 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.full != nil:
		k.in(Disk, fmt.Sprintf("%v; make room, or free something (archivefs free); it is tried again every minute", f.full))
		return soon
	case ctx.Err() != nil:
		return 0 // there is more to do
	case p.away != nil:
		k.in(Waiting, awayText(p.away))
		k.aways++
		return backoff.After(k.aways)
	case f.failed != nil:
		k.in(Incomplete, f.failed.Error()+"; it is tried again")
	default:
		k.in(Complete, "")
	}
	return k.Interval * share // as long as the caller likes
}

// awayText says why the keeper waits.
func awayText(err error) string { return err.Error() + "; it goes on once the service can answer" }

// work fetches contents until there is nothing left, or nothing more can be done.
func (f *fetching) work(ctx context.Context) {
	for {
		it, ok := f.next()
		if !ok || ctx.Err() != nil {
			return
		}
		size, err := f.k.one(ctx, &it)
		if ctx.Err() != nil {
			return
		}
		if pause := f.ended(&it, size, err); pause > 0 {
			f.k.wait(ctx, pause, err)
		}
	}
}

func (f *fetching) next() (it item, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.todo) == 0 || f.full != nil {
		return item{}, false
	}
	it, f.todo = f.todo[0], f.todo[1:]
	return it, true
}

// ended notes the outcome of an attempt, and returns for how long to wait before another one.
func (f *fetching) ended(it *item, size int64, err error) (pause time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := archive.KindOf(err)
	switch {
	case err == nil:
		f.failures = 0
		f.k.mu.Lock()
		defer f.k.mu.Unlock()
		for _, c := range it.under {
			c.fetched(it, size)
		}
		return 0
	case errors.Is(err, errDisk), errors.Is(err, cache.ErrNotKept):
		f.full = errDisk
		return 0
	case isAway(err) && !it.missing: // what is here serves until the next round
		f.todo = nil
		return 0
	case isAway(err):
		f.failures++
		f.todo = slices.Insert(f.todo, 0, *it)
	default: // it may be about this document alone
		f.failed = fmt.Errorf("%s: %w", pathOf(it.dir, it.key.Document), err)
		if kind == archive.KindNotFound {
			it.dir.Distrust()
		}
		if !archive.Away(err) {
			return 0
		}
		if f.failures++; f.failures%atService != 0 {
			return 0
		}
	}
	pause = backoff.After(f.failures)
	if answer, ok := errors.AsType[*archive.Error](err); ok {
		pause = max(pause, answer.RetryAfter)
	}
	return pause
}

// wait waits until the service can be asked again.
func (k *Keeper) wait(ctx context.Context, pause time.Duration, err error) {
	k.in(Waiting, awayText(err))
	defer k.in(Fetching, "")
	k.pause(ctx, pause, archive.KindOf(err) == archive.KindUnreachable)
}

// one fetches or validates a content, and returns its length.
func (k *Keeper) one(ctx context.Context, it *item) (size int64, err error) {
	if err := k.room(max(it.size, 0)); err != nil {
		return 0, err
	}
	k.yield(ctx)
	k.own.Add(1)
	defer k.own.Add(-1)
	before, here := k.Contents.Content.Kept.Held(it.key)
	r, err := k.Contents.Renew(ctx, it.key.Document, it.print)
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // nothing was read
	if r.Key() != it.key {
		k.keepInstead(r.Key())
	}
	if it.size < 0 {
		if err := k.room(r.Size()); err != nil {
			return 0, err // which cancels the download
		}
	}
	if here && before.Tagged {
		k.mu.Lock()
		k.validated[it.key] = before
		k.mu.Unlock()
	}
	return r.Size(), r.Wait(ctx)
}

// keepInstead keeps a document in another representation than the usual one, which it lacks.
func (k *Keeper) keepInstead(key cache.Key) {
	k.Contents.Content.Kept.Keep(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.instead[key.Document] = key.Representation
}

// yield waits while programs download contents, for a while.
func (k *Keeper) yield(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, yields)
	defer cancel()
	for int64(k.Contents.Content.Kept.Downloading()) > k.own.Load() {
		if retry.Sleep(ctx, 50*time.Millisecond) != nil {
			return
		}
	}
}

// room returns errDisk unless the disk has room for a content, beside the reserve. Contents that are
// not kept are evicted for it.
func (k *Keeper) room(size int64) error {
	for range 2 {
		free, err := k.Contents.Content.Kept.FreeDisk()
		if err != nil || free >= size+reserve {
			return nil // if it is not known, the write will show
		}
		if !k.Contents.Content.Free(size + reserve - free) {
			break
		}
	}
	return errDisk
}
