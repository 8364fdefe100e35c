package rights

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
)

// office shows each user other folders and documents, and counts what it is asked.
type office struct {
	mu      sync.Mutex
	folders map[uint32][]archive.ID
	boxes   map[uint32][]archive.Inbox
	docs    map[uint32][]archive.ID
	err     error
	asked   int
}

// asks counts a request, and returns whose it is.
func (s *office) asks(ctx context.Context) (uint32, error) {
	s.asked++
	uid, _, _ := Of(ctx)
	return uid, s.err
}

func (s *office) Children(ctx context.Context, _ archive.ID) (all archive.Structure, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid, err := s.asks(ctx)
	for _, id := range s.folders[uid] {
		all.Folders = append(all.Folders, archive.Folder{ID: id})
	}
	return all, err
}

func (s *office) Inboxes(ctx context.Context) (archive.Inboxes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid, err := s.asks(ctx)
	return archive.Inboxes{Inboxes: s.boxes[uid]}, err
}

func (s *office) EachDocument(ctx context.Context, _ archive.ID, _ archive.ListOptions, begin func() func(*archive.Document)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	begin()(&archive.Document{ID: 999}) // an attempt that is void
	uid, err := s.asks(ctx)
	take := begin()
	for _, id := range s.docs[uid] {
		take(&archive.Document{ID: id})
	}
	return err
}

func (s *office) Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid, err := s.asks(ctx)
	if slices.Contains(s.docs[uid], doc) {
		return archive.DocumentData{}, err
	}
	return archive.DocumentData{}, &archive.Error{Kind: archive.KindNotFound}
}

// known are users: 0 has the credentials of the mount, 4 those of 1, and 9 none.
type known struct{}

func (known) Whose(uid uint32) (string, error) {
	switch uid {
	case 0:
		return "", nil
	case 9:
		return "", errors.New("unknown")
	case 4:
		return "of 1", nil
	}
	return "of " + string(rune('0'+uid)), nil
}

func (known) Mapped() (int, []string) { return 0, nil }

// bench is a judge with a clock.
type bench struct {
	*Judge
	*office
	t   *testing.T
	now time.Time
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: time.Unix(1e9, 0), office: &office{
		folders: map[uint32][]archive.ID{1: {12, 11}, 2: {11}},
		docs:    map[uint32][]archive.ID{1: {30, 10, 20}, 2: {20}},
		boxes:   map[uint32][]archive.Inbox{1: {{Folder: archive.Folder{ID: 50, Children: []archive.Folder{{ID: 51}}}}}},
	}}
	b.Judge = New(Config{
		People: known{}, Archive: b.office, TTL: time.Minute, Now: func() time.Time { return b.now },
		Person: func(ctx context.Context) (uint32, bool) {
			uid, some, _ := Of(ctx)
			return uid, some
		},
	})
	return b
}

// of is a context on behalf of a user.
func (b *bench) of(uid uint32) context.Context { return As(b.t.Context(), uid) }

// want fails the test unless a judgement is an errno, 0 for none, and took that many requests.
func (b *bench) want(what string, err error, want syscall.Errno, requests int) {
	b.t.Helper()
	if got := errno.Of(err); got != want {
		b.t.Errorf("%s: %v, want %v", what, err, want)
	}
	if b.asked != requests {
		b.t.Errorf("%s: %d requests, want %d", what, b.asked, requests)
	}
	b.asked = 0
}

func TestEachUserSeesTheirPart(t *testing.T) {
	b := newBench(t)
	b.want("a folder", b.Folder(b.of(1), 7, 12), 0, 1)
	b.want("it again", b.Folder(b.of(1), 7, 12), 0, 0)
	b.want("one beside it", b.Folder(b.of(1), 7, 11), 0, 0)
	b.want("of somebody with the same credentials", b.Folder(b.of(4), 7, 11), 0, 0)
	b.want("of somebody else", b.Folder(b.of(2), 7, 12), syscall.ENOENT, 1)
	b.want("a document", b.Document(b.of(1), 7, 10), 0, 1)
	b.want("of somebody else", b.Document(b.of(2), 7, 10), syscall.ENOENT, 1)
	b.want("of an attempt that was void", b.Document(b.of(1), 7, 999), syscall.ENOENT, 1)
	b.want("an inbox", b.Inbox(b.of(1), 50), 0, 1)
	b.want("a folder in it", b.Inbox(b.of(1), 51), 0, 0)
	b.want("of somebody else", b.Inbox(b.of(2), 51), syscall.ENOENT, 1)
	b.want("anywhere", b.Anywhere(b.of(1), 30), 0, 1)
	b.want("anywhere, of somebody else", b.Anywhere(b.of(2), 30), syscall.ENOENT, 1)
	for _, ctx := range []context.Context{b.of(0), Nobody(b.of(1)), t.Context()} {
		b.want("of the mount", b.Document(ctx, 7, 5), 0, 0)
	}
	err := b.Document(b.of(9), 7, 10)
	b.want("of a stranger", err, syscall.EACCES, 0)
	if err == nil || !strings.Contains(err.Error(), "the user 9 of this machine is not in the file of --map-users") {
		t.Error(err)
	}
	var none *Judge
	none.Reset()
	b.want("without a judge", none.Document(b.of(9), 7, 10), 0, 0)
	sees, err := b.Documents(b.of(2), 7, []archive.ID{10, 20, 30})
	b.want("several", err, 0, 1) // 30 is new here
	if sees(10) || !sees(20) || sees(30) {
		t.Error("it sees others")
	}
	if sees, err = b.Folders(b.of(1), 7, []archive.ID{11}); err != nil || !sees(11) {
		t.Error("folders:", err)
	}
	if sees, err = b.Judge.Inboxes(b.of(1), []archive.ID{50}); err != nil || !sees(50) || sees(52) {
		t.Error("inboxes:", err)
	}
}

func TestOwn(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		by, of uint32
		want   bool
	}{{1, 1, true}, {1, 4, true}, {1, 2, false}, {0, 2, true}, {2, 0, false}, {2, 9, false}, {9, 9, false}} {
		if got := b.Own(b.of(tt.by), tt.of); got != tt.want {
			t.Errorf("of %d by %d: %v", tt.of, tt.by, got)
		}
	}
	if as := b.Whose(b.of(4)); as != "of 1" {
		t.Error(as)
	}
}

// What is new is asked for once, and what was taken away is seen until the end of the ttl.
func TestAnswersAreRemembered(t *testing.T) {
	b := newBench(t)
	b.want("a document", b.Document(b.of(2), 7, 20), 0, 1)
	b.docs[2] = []archive.ID{40}
	b.want("one that is new", b.Document(b.of(2), 7, 40), 0, 1)
	b.want("one that is gone", b.Document(b.of(2), 7, 20), syscall.ENOENT, 1)
	b.want("it again", b.Document(b.of(2), 7, 20), syscall.ENOENT, 0)
	b.docs[2] = []archive.ID{20}
	b.want("taken away", b.Document(b.of(2), 7, 40), 0, 0)
	b.want("given back", b.Document(b.of(2), 7, 20), syscall.ENOENT, 0)
	b.now = b.now.Add(time.Minute)
	b.want("taken away, after the ttl", b.Document(b.of(2), 7, 40), syscall.ENOENT, 1)
	b.want("given back, after the ttl", b.Document(b.of(2), 7, 20), 0, 0)
	b.Reset()
	b.want("after a reset", b.Document(b.of(2), 7, 20), 0, 1)
}

func TestAnswersWhileTheServiceFails(t *testing.T) {
	b := newBench(t)
	b.err = &archive.Error{Kind: archive.KindForbidden}
	b.want("forbidden", b.Document(b.of(2), 7, 20), syscall.EACCES, 1)
	b.err = nil
	b.want("soon after", b.Document(b.of(2), 7, 20), syscall.EACCES, 0)
	b.now = b.now.Add(errorTTL)
	b.want("later", b.Document(b.of(2), 7, 20), 0, 1)
	b.now = b.now.Add(time.Hour)
	b.err = &archive.Error{Kind: archive.KindUnreachable}
	b.want("known, and the service is away", b.Document(b.of(2), 7, 20), 0, 1)
	b.want("soon after", b.Document(b.of(2), 7, 20), 0, 0)
	b.want("hidden, and the service is away", b.Document(b.of(2), 7, 10), syscall.ENOENT, 0)
	b.want("never asked for, and the service is away", b.Document(b.of(2), 8, 20), syscall.EIO, 1)
	b.now = b.now.Add(errorTTL)
	b.want("still away", b.Document(b.of(2), 7, 20), 0, 1)
	b.now = b.now.Add(errorTTL)
	b.err = &archive.Error{Kind: archive.KindUnauthorized, Person: "max"}
	b.want("refused", b.Document(b.of(2), 7, 20), syscall.EACCES, 1)
	b.now = b.now.Add(errorTTL)
	b.err = &archive.Error{Kind: archive.KindUnreachable}
	b.want("refused, and then away", b.Document(b.of(2), 7, 20), syscall.EIO, 1)
	ctx, cancel := context.WithCancel(b.of(2))
	cancel()
	b.err, b.now = ctx.Err(), b.now.Add(errorTTL)
	b.want("a caller who left", b.Document(b.of(2), 7, 20), syscall.EINTR, 1)
	b.err = nil
	b.want("the next", b.Document(b.of(2), 7, 20), 0, 1)
}

// Whoever makes something sees it without a request.
func TestWhatIsMadeIsSeen(t *testing.T) {
	b := newBench(t)
	b.made(b.of(2), documents, 7, 60)
	b.want("made before anything is known", b.Document(b.of(2), 7, 20), 0, 1)
	sees, err := b.Documents(b.of(2), 7, []archive.ID{20})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []archive.ID{60, 15, 60} {
		b.made(b.of(2), documents, 7, id)
		b.want("what was made", b.Document(b.of(2), 7, id), 0, 0)
	}
	b.want("what was there", b.Document(b.of(2), 7, 20), 0, 0)
	if sees(60) {
		t.Error("an earlier answer has changed")
	}
	b.made(b.of(0), documents, 7, 70)
	b.want("made by the mount", b.Document(b.of(2), 7, 70), syscall.ENOENT, 1)
}

func TestAnswersAreBounded(t *testing.T) {
	b := newBench(t)
	b.most = 400
	b.docs[1] = make([]archive.ID, b.most/4)
	for folder := range archive.ID(10) {
		if err := b.Document(b.of(1), folder, 0); err != nil {
			t.Fatal(err)
		}
	}
	b.Judge.mu.Lock()
	if n := b.answers.Len(); n != 4 || b.ids != b.most {
		t.Errorf("%d answers with %d ids", n, b.ids)
	}
	b.Judge.mu.Unlock()
	b.Reset()
	b.Judge.mu.Lock()
	defer b.Judge.mu.Unlock()
	if b.ids != 0 {
		t.Errorf("%d ids after a reset", b.ids)
	}
}

// Several requests of one user at the same time ask once.
func TestOneAsksForAll(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := b.Document(b.of(1), 7, 10); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.want("eight at a time", nil, 0, 1)
}
