package history

import (
	"fmt"
	"math/rand/v2"
	"path"
	"time"
)

// Options bound what histories hold.
type Options struct {
	Writes []Writes // at least one
	// Focus, when it is set, directs the histories at one place.
	Focus *Focus
}

// Focus directs histories at a place, so that few of them are needed to show a fault there.
type Focus struct {
	Service Shape
	Kinds   []Kind // the actions of the first step
	Session Session
	// Fsync makes all actions sync what they wrote.
	Fsync bool
	// Size is the length of each file in bytes, 0 for a random one. A crash rarely damages a short file.
	Size int
}

// generator draws a history.
type generator struct {
	rng *rand.Rand
	h   *History
	// next is the next index of a content.
	next int
	// kills counts the kills at points so far.
	kills uint64
	// idle are works of earlier steps, busy those of the one that is drawn.
	idle, busy []*work
	// rests is the time of grace of the session that is drawn.
	rests time.Duration
}

// New draws the history of a run.
func New(seed, run uint64, o Options) *History {
	g := &generator{
		rng: rand.New(rand.NewPCG(seed, run)), //nolint:gosec // not a secret
		h:   &History{Seed: seed, Run: run},
	}
	g.h.Writes = pick(g.rng, o.Writes)
	g.h.Service = pick(g.rng, Shapes())
	g.waiting()
	if o.Focus != nil {
		g.focused(o.Focus)
		return g.h
	}
	for range 2 + g.rng.IntN(2) {
		g.session()
	}
	return g.h
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// waiting puts documents into the inbox.
func (g *generator) waiting() {
	for i := range 4 {
		index := g.index()
		g.h.Waiting = append(g.h.Waiting, Waiting{Index: index, Name: fmt.Sprintf("scan-%d.txt", i), Size: g.size()})
	}
}

func (g *generator) index() int {
	g.next++
	return g.next
}

// size is the length of a content in bytes: from one to some hundred thousand.
func (g *generator) size() int {
	switch g.rng.IntN(6) {
	case 0:
		return 1 + g.rng.IntN(64)
	case 1:
		return 1 + g.rng.IntN(300<<10)
	}
	return 1 + g.rng.IntN(20<<10)
}

// focused makes one session as the focus says and, where it asks for the recovery of what
// was cut off, one before it.
func (g *generator) focused(f *Focus) {
	if f.Service != "" {
		g.h.Service = f.Service
	}
	if recovers(f.Session.Point.Point) {
		g.cutOff()
	}
	s := f.Session
	s.Steps, g.rests = nil, s.Grace
	for range 1 + g.rng.IntN(2) {
		var step Step
		for _, kind := range f.Kinds {
			a := g.action(kind)
			a.Fsync = a.Fsync || f.Fsync
			if f.Size > 0 {
				a.Size = f.Size
			}
			step = append(step, a)
		}
		s.Steps = append(s.Steps, step)
		g.mayGoOn()
	}
	g.h.Sessions = append(g.h.Sessions, s)
}

// session adds a session with some trouble.
func (g *generator) session() {
	s := Session{End: pick(g.rng, []End{Clean, Kill, Crash, Crash}), Grace: g.grace()}
	g.rests = s.Grace
	switch g.rng.IntN(12) {
	case 0: // trouble from outside alone
	case 1:
		s.Moment = time.Duration(1+g.rng.IntN(120)) * time.Millisecond
	case 2:
		s.Point = g.failure()
	default:
		s.Point = g.kill()
	}
	if recovers(s.Point.Point) {
		g.cutOff()
	}
	s.Net, s.Disk = g.netFaults(), g.diskFaults()
	for range 1 + g.rng.IntN(3) {
		s.Steps = append(s.Steps, g.step())
	}
	g.pass(&s)
	if g.rng.IntN(4) == 0 {
		g.watched(&s)
	}
	if g.h.Writes == Async && !needsService(s.Point.Point) && g.rng.IntN(3) == 0 {
		g.queue(&s)
	}
	g.h.Sessions = append(g.h.Sessions, s)
}

// cutOff adds a session that leaves an unfinished file.
func (g *generator) cutOff() {
	g.h.Sessions = append(g.h.Sessions, Session{Steps: []Step{{g.action(Hanging), g.action(Hanging)}}, End: Kill})
}

// step draws what happens at the same time. No two of its actions are about the same
// document or name.
func (g *generator) step() Step {
	var step Step
	used := map[int]bool{}
	for range 1 + g.rng.IntN(4) {
		a := g.action(pick(g.rng, mix()))
		if a.OnDocument() {
			if used[a.Document] {
				continue
			}
			used[a.Document] = true
		}
		step = append(step, a)
	}
	g.mayGoOn()
	return step
}

// mix is how often each kind of action is drawn.
func mix() []Kind {
	return []Kind{
		Write, Write, Write, Copy, Copy, Temporary, Temporary, Rewrite, Killed, Killed, KillClose, Hanging, Two, TwoKilled,
		Cut, CutRetry, Retry, Keep, KeepMore, Move, Move, Remove, Mkdir, File, File, Rename, Replace, Read, Look,
		Work, Work, Work, Work, Work, Work, Over, Over, FileAway,
	}
}

// action draws an action of a kind.
func (g *generator) action(kind Kind) Action {
	a := Action{
		Kind: kind, Index: g.index(), Dir: Folder, Size: g.size(), Chunk: 1 << (9 + g.rng.IntN(9)), Fsync: g.rng.IntN(3) == 0,
		Document: g.rng.IntN(len(g.h.Waiting)), Tagged: g.rng.IntN(3) == 0,
	}
	a.Name = fmt.Sprintf("brief-%d.txt", a.Index)
	if a.Index > 255 {
		a.Size++ // so that it holds the index
	}
	switch kind { // the others are as they are
	case Work:
		g.works(&a, g.rests)
	case Over:
		a.Tagged = false // it gets the bytes of the file, and keeps what is known of it
		a.Dir, a.New = Inbox, fmt.Sprintf(pick(g.rng, []string{"%s", doubted, part}), a.Name)
	case FileAway:
		a.New = path.Join(pick(g.rng, []string{Folder, Mandator}), fmt.Sprintf("Akte %d", a.Index))
	case Mkdir:
		a.Dir, a.Name = Mandator, fmt.Sprintf("Ordner %d", a.Index)
	case Two, TwoKilled, Killed, Hanging, KeepMore:
		a.Size++ // has two halves
	case Look:
		a.Dir = pick(g.rng, []string{Folder, Inbox, Mandator})
	case Rename, Read:
		a.Dir = Inbox
	case Move:
		a.Dir, a.From = pick(g.rng, []string{Folder, Inbox}), pick(g.rng, []string{Folder, Inbox})
	case Replace:
		a.Dir, a.Name = Inbox, g.h.Waiting[a.Document].Name
	default:
		if kind != File && g.rng.IntN(5) == 0 {
			a.Dir = Inbox
		}
	}
	return a
}
