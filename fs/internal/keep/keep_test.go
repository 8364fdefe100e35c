package keep

import (
	"errors"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// newTree returns an empty tree of a mount that began an hour before now.
func newTree(now time.Time) *tree.Tree {
	service := remote.New(remote.Config{TTL: time.Minute, Listings: 1, Now: func() time.Time { return now }})
	return tree.New(tree.Config{Service: service, Started: now.Add(-time.Hour)})
}

// Errors that say that nobody is served pause the keeper, others leave a content for the next round.
func TestOutcomesOfAttempts(t *testing.T) {
	of := func(kind archive.Kind) error { return &archive.Error{Op: "content", Kind: kind} }
	for name, tt := range map[string]struct {
		err            error
		validates      bool // the content is here
		pauses, again  bool
		failed, isFull bool
	}{
		"it is here":                {},
		"no connection":             {err: of(archive.KindUnreachable), pauses: true, again: true},
		"no connection, is here":    {err: of(archive.KindUnreachable), validates: true},
		"busy":                      {err: of(archive.KindBusy), pauses: true, again: true},
		"credentials refused":       {err: of(archive.KindUnauthorized), pauses: true, again: true},
		"the service fails":         {err: of(archive.KindServer), failed: true},
		"one document hangs":        {err: of(archive.KindTimeout), failed: true},
		"the document is gone":      {err: of(archive.KindNotFound), failed: true},
		"permission is missing":     {err: of(archive.KindForbidden), failed: true},
		"it changed meanwhile":      {err: cache.ErrChanged, failed: true},
		"the disk has no room":      {err: errDisk, isFull: true},
		"it was read, but not kept": {err: cache.ErrNotKept, isFull: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fetching{k: &Keeper{}}
			it := &item{missing: !tt.validates, dir: newTree(time.Now()).Root}
			pause := f.ended(it, 10, tt.err)
			if (pause > 0) != tt.pauses || (len(f.todo) > 0) != tt.again || (f.failed != nil) != tt.failed || (f.full != nil) != tt.isFull { // +checklocksignore
				t.Errorf("%v, %+v", pause, f)
			}
		})
	}
}

// A service that fails at one content after the other gets a rest, which a Retry-After prolongs.
func TestPausesWhileTheServiceFails(t *testing.T) {
	f := &fetching{k: &Keeper{}}
	it := &item{missing: true, dir: newTree(time.Now()).Root}
	var pauses []time.Duration
	for range 2 * atService {
		pauses = append(pauses, f.ended(it, 0, &archive.Error{Kind: archive.KindServer}))
	}
	for i, pause := range pauses {
		if (pause > 0) != ((i+1)%atService == 0) {
			t.Errorf("pauses are %v", pauses)
		}
	}
	if got := f.ended(it, 0, &archive.Error{Kind: archive.KindBusy, RetryAfter: time.Hour}); got < time.Hour {
		t.Errorf("after a Retry-After of an hour the pause is %v", got)
	}
	if got := f.ended(it, 5, nil); got != 0 || f.failures != 0 { // +checklocksignore
		t.Errorf("after a success the pause is %v, %d failures", got, f.failures) // +checklocksignore
	}
}

// Listings that are not there leave marks as they are, unless the service says that it has none.
func TestWhatListingsSay(t *testing.T) {
	for kind, want := range map[archive.Kind]struct{ partial, away bool }{
		archive.KindUnreachable: {true, true}, archive.KindBusy: {true, true}, archive.KindUnauthorized: {true, true},
		archive.KindServer: {true, false}, archive.KindTimeout: {true, false},
		archive.KindForbidden: {}, archive.KindNotFound: {},
	} {
		var p plan
		p.fail(&archive.Error{Kind: kind})
		if p.partial != want.partial || (p.away != nil) != want.away || (p.failed != nil) == want.away {
			t.Errorf("%v: %+v", kind, p)
		}
	}
	var p plan
	if p.fail(errors.New("odd")); !p.partial || p.away != nil {
		t.Errorf("an odd error: %+v", p)
	}
}

// What has to be validated, and when.
func TestOutdated(t *testing.T) {
	now := time.Now()
	k := &Keeper{Config: Config{Interval: 10 * time.Minute, Contents: &content.Contents{Tree: newTree(now)}}}
	held := func(age time.Duration, tagged bool) cache.Held {
		return cache.Held{Size: 5, Fetched: now.Add(-age), Tagged: tagged}
	}
	for name, tt := range map[string]struct {
		print  archive.Fingerprint
		size   int64
		held   cache.Held
		fickle bool
		want   bool
	}{
		"archived since":                    {print: 7, size: 5, held: held(0, true), want: true},
		"archived":                          {print: 7, size: 5, held: cache.Held{Size: 5, Print: 7}},
		"archived, and not listed then":     {print: 7, size: 5, held: cache.Held{Size: 5, Print: archive.Unlisted}},
		"archived, and listed otherwise":    {print: 7, size: 5, held: cache.Held{Size: 5, Print: 8}, want: true},
		"young, with an ETag":               {size: 5, held: held(time.Minute, true)},
		"old, with an ETag":                 {size: 5, held: held(9*time.Minute, true), want: true},
		"old, with an ETag of no use":       {size: 5, held: held(9*time.Minute, true), fickle: true},
		"without one":                       {size: 5, held: held(2*time.Hour, false)},
		"without one, and of another size":  {size: 6, held: held(2*time.Hour, false), want: true},
		"the same, but fetched since":       {size: 6, held: held(time.Minute, false)},
		"without one, of a size not listed": {size: archive.SizeUnknown, held: held(2*time.Hour, false)},
		"without one, and very old":         {size: 5, held: held(25*time.Hour, false), want: true},
	} {
		k.fickle.Store(tt.fickle)
		it := &item{key: cache.Key{Document: 1, Representation: archive.Original}, print: tt.print, size: tt.size}
		if got := k.outdated(it, tt.held); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
