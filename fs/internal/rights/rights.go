// Package rights decides what each user of this machine may see of a mount that several share.
//
// The listings of a mount are those that its own credentials get. What somebody may see of them is
// asked of the service with the credentials of this user, and remembered for each user for the ttl: a
// folder is visible if the listing of its parent has it, a document if that of its folder has it. What
// the service was not asked is not visible. While it is away, what it said last holds.
package rights

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/remote"
)

// People says whose credentials the service knows.
type People interface {
	// Whose names the credentials of a user of this machine; the empty name is of the mount's own. The
	// error says that the user has none.
	Whose(uid uint32) (string, error)
	// Mapped returns how many users have credentials of their own, and those of them whose the service refuses.
	Mapped() (people int, refused []string)
}

// Archive is the part of the service that is asked, on behalf of whom the context names.
type Archive interface {
	Children(ctx context.Context, parent archive.ID) (archive.Structure, error)
	Inboxes(ctx context.Context) (archive.Inboxes, error)
	EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
}

// Config configures a Judge.
type Config struct {
	People  People
	Archive Archive
	// Person returns the user who made a request; false if nobody did.
	Person func(ctx context.Context) (uid uint32, ok bool)
	TTL    time.Duration
	Now    func() time.Time
}

const (
	// errorTTL is how long an error is remembered, and how long what the service said before holds
	// without another request while it is away.
	errorTTL = 2 * time.Second
	// maxAnswers and maxIDs limit what is remembered: 8 bytes for each id.
	maxAnswers = 16 << 10
	maxIDs     = 4 << 20
)

// Judge decides what users may see. It is safe for concurrent use. A nil Judge lets everybody see everything.
type Judge struct {
	c    Config
	most int // maxIDs

	mu sync.Mutex
	// answers are what the service has said.
	answers *simplelru.LRU[question, *answer] // +checklocks:mu
	// ids counts those in answers.
	ids int // +checklocks:mu
}

// question is what the service is asked with somebody's credentials.
type question struct {
	as string // People.Whose
	about
	id archive.ID
}

// about says which ids an answer has.
type about uint8

const (
	folders   about = iota // those of the folders in the folder id
	inboxes                // those of all inboxes and folders in them
	documents              // those of the documents in the folder id
	document               // id itself, which may lie anywhere
)

// answer is what the service has said to a question. turn has a token while nobody asks it; the holder
// of the token uses the other fields.
type answer struct {
	turn chan struct{}

	known   bool
	asked   time.Time // when the question that brought ids was begun
	ids     []archive.ID
	missing map[archive.ID]bool // were asked for after they were known, and are not there
	err     error
	until   time.Time // err holds, or another answer is not asked for, before this time
	counted int       // of Judge.ids; guarded by mu of the Judge
}

// New makes a Judge. It asks nothing.
func New(c Config) *Judge {
	answers, err := simplelru.NewLRU[question, *answer](maxAnswers, nil)
	if err != nil {
		panic("rights: " + err.Error()) // only a bound below one is refused
	}
	return &Judge{c: c, most: maxIDs, answers: answers}
}

// Reset forgets all that the service has said.
func (j *Judge) Reset() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answers.Purge()
	j.ids = 0
}

// Everything reports whether the user of a request sees all that the mount shows: nobody in particular, and those who
// have the credentials of the mount. as names the credentials of anybody else. The error refuses somebody who has none.
func (j *Judge) Everything(ctx context.Context) (as string, everything bool, err error) {
	if j == nil {
		return "", true, nil
	}
	uid, some := j.c.Person(ctx)
	if !some {
		return "", true, nil
	}
	as, err = j.c.People.Whose(uid)
	if err != nil {
		return "", false, errno.Refuse(syscall.EACCES, "the user "+strconv.FormatUint(uint64(uid), 10)+
			" of this machine is not in the file of --map-users, and that has no section [\"*\"] for others")
	}
	return as, as == "", nil
}

// Whose names the credentials of the user of a request: what the service says to one name is not for
// another one. It is empty for those of the mount.
func (j *Judge) Whose(ctx context.Context) string {
	as, _, _ := j.Everything(ctx)
	return as
}

// Own reports whether what a user has made is the affair of the user of a request: they have the same
// credentials, or those of the mount.
func (j *Judge) Own(ctx context.Context, uid uint32) bool {
	as, everything, err := j.Everything(ctx)
	if everything || err != nil {
		return everything
	}
	other, err := j.c.People.Whose(uid)
	return err == nil && other == as
}

// Folder returns nil if the user of a request sees the folder id in the folder parent.
func (j *Judge) Folder(ctx context.Context, parent, id archive.ID) error {
	return j.one(ctx, folders, parent, id)
}

// Inbox is Folder for an inbox, or a folder in one.
func (j *Judge) Inbox(ctx context.Context, id archive.ID) error { return j.one(ctx, inboxes, 0, id) }

// Document is Folder for a document in a folder.
func (j *Judge) Document(ctx context.Context, folder, id archive.ID) error {
	return j.one(ctx, documents, folder, id)
}

// Anywhere is Folder for a document wherever it lies.
func (j *Judge) Anywhere(ctx context.Context, id archive.ID) error {
	return j.one(ctx, document, id, id)
}

func (j *Judge) one(ctx context.Context, a about, in, id archive.ID) error {
	seen, err := j.see(ctx, a, in, []archive.ID{id})
	if err == nil && !seen(id) {
		err = syscall.ENOENT
	}
	return err
}

// Documents returns which of the documents in a folder the user of a request sees.
func (j *Judge) Documents(ctx context.Context, folder archive.ID, ids []archive.ID) (sees func(archive.ID) bool, err error) {
	return j.see(ctx, documents, folder, ids)
}

// Folders is Documents for the folders in a folder.
func (j *Judge) Folders(ctx context.Context, parent archive.ID, ids []archive.ID) (sees func(archive.ID) bool, err error) {
	return j.see(ctx, folders, parent, ids)
}

// Inboxes is Documents for inboxes and folders in them.
func (j *Judge) Inboxes(ctx context.Context, ids []archive.ID) (sees func(archive.ID) bool, err error) {
	return j.see(ctx, inboxes, 0, ids)
}

// see answers a question, as far as ids are concerned.
func (j *Judge) see(ctx context.Context, about about, id archive.ID, ids []archive.ID) (func(archive.ID) bool, error) {
	as, everything, err := j.Everything(ctx)
	if err != nil {
		return nil, err
	}
	if everything {
		return func(archive.ID) bool { return true }, nil
	}
	q := question{as, about, id}
	a := j.answer(q)
	select {
	case <-a.turn:
		defer func() { a.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := j.update(ctx, q, a, ids); err != nil {
		return nil, err
	}
	has := a.ids
	return func(id archive.ID) bool {
		_, found := slices.BinarySearch(has, id)
		return found
	}, nil
}

// made notes that the user of a request has made something, and so sees it.
func (j *Judge) made(ctx context.Context, about about, in, id archive.ID) {
	as, everything, err := j.Everything(ctx)
	if everything || err != nil {
		return
	}
	q := question{as, about, in}
	j.mu.Lock()
	a, ok := j.answers.Peek(q)
	j.mu.Unlock()
	if !ok {
		return // the service is asked first
	}
	<-a.turn // which requests hold; they end
	defer func() { a.turn <- struct{}{} }()
	if at, found := slices.BinarySearch(a.ids, id); a.known && !found {
		a.ids = slices.Insert(slices.Clone(a.ids), at, id) // somebody may use the former slice
		j.count(q, a)
	}
}

// answer returns what is remembered of a question.
func (j *Judge) answer(q question) *answer {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a, ok := j.answers.Get(q); ok {
		return a
	}
	a := &answer{turn: make(chan struct{}, 1)}
	a.turn <- struct{}{}
	if j.answers.Len() == maxAnswers {
		j.dropLocked()
	}
	j.answers.Add(q, a)
	return a
}

// update asks the service unless what it has said is recent, and says something about all of ids: one
// that is new here is asked for once more. The caller has the token of a.
func (j *Judge) update(ctx context.Context, q question, a *answer, ids []archive.ID) error {
	now := j.c.Now()
	recent := a.known && now.Sub(a.asked) < j.c.TTL
	switch {
	case now.Before(a.until):
		if a.known && archive.Away(a.err) {
			return nil
		}
		return a.err
	case recent && !slices.ContainsFunc(ids, a.lacks):
		return nil
	}
	got, err := j.ask(ctx, q)
	switch {
	case err == nil:
		slices.Sort(got)
		a.known, a.asked, a.ids, a.missing, a.err, a.until = true, now, got, map[archive.ID]bool{}, nil, time.Time{}
		for _, id := range ids {
			if a.lacks(id) {
				a.missing[id] = true
			}
		}
		j.count(q, a)
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	a.err, a.until = err, j.c.Now().Add(errorTTL)
	if archive.Away(err) && a.known {
		return nil
	}
	a.known, a.ids = false, nil
	return err
}

// lacks reports whether an answer says nothing about id: it is newer than the answer.
func (a *answer) lacks(id archive.ID) bool {
	_, found := slices.BinarySearch(a.ids, id)
	return !found && !a.missing[id]
}

// count counts the ids of an answer, and forgets others if there are too many.
func (j *Judge) count(q question, a *answer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if there, ok := j.answers.Get(q); !ok || there != a {
		return // forgotten meanwhile
	}
	j.ids += len(a.ids) - a.counted
	a.counted = len(a.ids)
	for j.ids > j.most && j.answers.Len() > 1 {
		j.dropLocked()
	}
}

// dropLocked forgets the answer that was used longest ago.
// +checklocks:j.mu
func (j *Judge) dropLocked() {
	_, a, _ := j.answers.RemoveOldest()
	j.ids -= a.counted
}

func (j *Judge) ask(ctx context.Context, q question) (ids []archive.ID, err error) {
	switch q.about {
	case folders:
		all, err := j.c.Archive.Children(ctx, q.id)
		for i := range all.Folders {
			ids = append(ids, all.Folders[i].ID)
		}
		return ids, err
	case inboxes:
		all, err := j.c.Archive.Inboxes(ctx)
		for i := range all.Inboxes {
			ids = addInbox(ids, &all.Inboxes[i].Folder)
		}
		return ids, err
	case document:
		if _, err := j.c.Archive.Data(ctx, q.id); err != nil {
			return nil, err
		}
		return []archive.ID{q.id}, nil
	}
	err = j.c.Archive.EachDocument(ctx, q.id, archive.ListOptions{}, func() func(*archive.Document) {
		ids = nil
		return func(doc *archive.Document) { ids = append(ids, doc.ID) }
	})
	return ids, err
}

func addInbox(ids []archive.ID, f *archive.Folder) []archive.ID {
	ids = append(ids, f.ID)
	for i := range f.Children {
		ids = addInbox(ids, &f.Children[i])
	}
	return ids
}

// shared is an archive service whose listings and lengths are asked for on nobody's behalf, because all
// people use them. What somebody has made is seen by them at once.
type shared struct {
	service
	judge *Judge
}

// service is a name for remote.Archive, one of whose methods has that name.
type service = remote.Archive

// Share returns the service for a mount of several people: what the caches keep for all of them is asked
// for on nobody's behalf, everything else on behalf of the one who causes it, who sees what comes of it.
func (j *Judge) Share(s remote.Archive) remote.Archive { return shared{s, j} }

func (s shared) Upload(ctx context.Context, up archive.Upload, body archive.Blob) (archive.ID, error) {
	id, err := s.service.Upload(ctx, up, body)
	if err == nil && id != 0 {
		s.judge.made(ctx, documents, up.Folder, id)
	}
	return id, err
}

func (s shared) CreateFolder(ctx context.Context, parent archive.ID, name string) (archive.Folder, error) {
	f, err := s.service.CreateFolder(ctx, parent, name)
	if err == nil && f.ID != 0 {
		s.judge.made(ctx, folders, parent, f.ID)
		s.judge.made(ctx, inboxes, 0, f.ID) // it may be in one
	}
	return f, err
}

func (s shared) Archive(ctx context.Context, doc archive.ID, target archive.ArchiveTarget) error {
	err := s.service.Archive(ctx, doc, target)
	if err == nil {
		s.judge.made(ctx, documents, target.Folder, doc)
	}
	return err
}

func (s shared) Children(ctx context.Context, parent archive.ID) (archive.Structure, error) {
	return s.service.Children(Nobody(ctx), parent)
}

func (s shared) Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error) {
	return s.service.Structure(Nobody(ctx), parent, lazy)
}

func (s shared) Inboxes(ctx context.Context) (archive.Inboxes, error) {
	return s.service.Inboxes(Nobody(ctx))
}

func (s shared) Documents(ctx context.Context, folder archive.ID, options archive.ListOptions) ([]archive.Document, error) {
	return s.service.Documents(Nobody(ctx), folder, options)
}

func (s shared) EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error {
	return s.service.EachDocument(Nobody(ctx), folder, options, begin)
}

func (s shared) ContentInfo(ctx context.Context, doc archive.ID, rep archive.Representation) (*archive.Content, error) {
	return s.service.ContentInfo(Nobody(ctx), doc, rep)
}

// whose is the key of what As and Nobody add to a context.
type whose struct{}

// asked is on whose behalf requests with a context are made.
type asked struct {
	uid  uint32
	some bool
}

// As returns a context for requests on behalf of a user.
func As(ctx context.Context, uid uint32) context.Context {
	return context.WithValue(ctx, whose{}, asked{uid, true})
}

// Nobody returns a context for requests on nobody's behalf: what they bring is for everybody.
func Nobody(ctx context.Context) context.Context { return context.WithValue(ctx, whose{}, asked{}) }

// Of returns the user that As named; set is false if neither As nor Nobody said anything.
func Of(ctx context.Context) (uid uint32, some, set bool) {
	a, set := ctx.Value(whose{}).(asked)
	return a.uid, a.some, set
}
