// Package notify tells a person at a desktop what keeps their files from the archive, in
// notifications (org.freedesktop.Notifications).
//
// A Notifier gathers what it is told, and shows one message at a time: the first two seconds after
// something happened, so that a burst is one message, and then at most one a minute. A later message
// replaces the one before it, and contains what that said, until that was closed, chosen, or taken
// away by the desktop after its time.
//
// The mount never waits: the methods that tell a Notifier something take a short lock only, messages
// are shown by a goroutine of their own within a limit, and what cannot be shown is dropped.
package notify

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// showLimit bounds how long a desktop may take to show a message.
	showLimit = 20 * time.Second
	// endLimit is how long Close waits for a desktop that does not answer.
	endLimit = time.Second
)

// Message is one notification. Its texts are plain, without markup.
type Message struct {
	Summary, Body string
	// Urgent: nothing can be archived until somebody acts.
	Urgent bool
}

// Desktop shows messages, one at a time.
type Desktop interface {
	// Show shows a message in place of the one before, if that is still shown. It returns when ctx is
	// done, at the latest.
	Show(ctx context.Context, m *Message) error
	// Closed receives when the message is gone, or the person has chosen its action.
	Closed() <-chan struct{}
	// Close takes no message away.
	Close() error
}

// Notifier is safe for concurrent use.
type Notifier struct {
	desktop Desktop
	log     logrus.FieldLogger
	wake    chan struct{} // has room for one
	cancel  context.CancelFunc
	ended   chan struct{}

	mu sync.Mutex
	// gathered is what the next message says.
	gathered group // +checklocks:mu
}

// New starts a Notifier. cure says what to do when the service refuses the credentials.
func New(desktop Desktop, cure string, log logrus.FieldLogger) *Notifier {
	ctx, cancel := context.WithCancel(context.Background())
	n := &Notifier{
		desktop: desktop, log: log, wake: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{}),
		gathered: group{cure: cure},
	}
	go n.run(ctx)
	return n
}

// Close stops showing messages. What was not shown is dropped.
func (n *Notifier) Close() error {
	n.cancel()
	limit := time.NewTimer(endLimit)
	defer limit.Stop()
	select {
	case <-n.ended:
		return n.desktop.Close()
	case <-limit.C: // it ends with the process; to close it would wait for the same
		return nil
	}
}

// UploadFailed says that the archive lacks a file, and why. Path is that of the file in the mount.
// An upload that fails again, or another one of the same path, counts once.
func (n *Notifier) UploadFailed(id, path, reason string) {
	n.tell(func(g *group) { g.fail(failure{id: id, path: path, reason: reason}, time.Now()) })
}

// UploadArrived says that the archive has a file after all. It takes back what was not shown yet.
func (n *Notifier) UploadArrived(id string) {
	n.tell(func(g *group) { g.arrive(id) })
}

// Refused says that the service refuses the credentials, and how it said so.
func (n *Notifier) Refused(reason string) {
	n.tell(func(g *group) { g.trouble(&g.refused, reason, time.Now()) })
}

// DiskFailed says that the disk of the state directory takes no files, and why.
func (n *Notifier) DiskFailed(err error) {
	n.tell(func(g *group) { g.trouble(&g.disk, err.Error(), time.Now()) })
}

func (n *Notifier) tell(what func(*group)) {
	n.change(what)
	select {
	case n.wake <- struct{}{}:
	default: // it is awake
	}
}

func (n *Notifier) change(what func(*group)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what(&n.gathered)
}

// run shows messages until ctx is done.
func (n *Notifier) run(ctx context.Context) {
	defer close(n.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Stop()
		n.change(func(g *group) {
			if at, any := g.due(); any {
				timer.Reset(time.Until(at))
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-n.desktop.Closed():
			n.change((*group).seen)
		case <-timer.C:
			n.show(ctx)
		}
	}
}

// show shows what was gathered, or drops the message: what it says stays for the next one.
func (n *Notifier) show(ctx context.Context) {
	var m Message
	isDue := false
	n.change(func(g *group) {
		at, any := g.due()
		if isDue = any && !time.Now().Before(at); isDue {
			m = g.take(time.Now())
		}
	})
	if !isDue {
		return // the uploads arrived after all
	}
	ctx, cancel := context.WithTimeout(ctx, showLimit)
	defer cancel()
	if err := n.desktop.Show(ctx, &m); err != nil {
		n.log.Debugf("no notification was shown: %v", err)
	}
}
