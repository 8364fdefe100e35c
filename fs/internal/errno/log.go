package errno

import (
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// repeatAfter is the time before the same refusal is logged again. Desktops try some things over
// and over.
const repeatAfter = time.Minute

// maxLogged limits the refusals that are remembered.
const maxLogged = 1024

// keptRefusals is how many refusals Log.Refusals returns at most.
const keptRefusals = 8

// Refusal is a change that was refused.
type Refusal struct {
	Time      time.Time `json:"time"`
	Operation string    `json:"operation"`
	Path      string    `json:"path"`
	Reason    string    `json:"reason"`
}

// Log turns errors into errnos and logs them. It is safe for concurrent use.
type Log struct {
	log logrus.FieldLogger
	now func() time.Time

	mu sync.Mutex
	// logged has the time of the last line for each path and reason.
	logged map[string]time.Time // +checklocks:mu
	// last has the newest first.
	last []Refusal // +checklocks:mu
}

// NewLog makes a Log that writes to log, with now as its clock.
func NewLog(log logrus.FieldLogger, now func() time.Time) *Log { return &Log{log: log, now: now} }

// Of returns the errno of the error of an operation on a path. It logs the error, with the reason
// of a refusal, unless programs cause this error all the time.
func (l *Log) Of(op, path string, err error) syscall.Errno { return l.of(op, path, false, err) }

// OfMany is Of for a refusal that many paths get one after the other, such as those of a folder: only the first is logged.
func (l *Log) OfMany(op, path string, err error) syscall.Errno { return l.of(op, path, true, err) }

func (l *Log) of(op, path string, many bool, err error) syscall.Errno {
	errno := Of(err)
	log := l.log.WithField("path", archive.Printable(path))
	if refused(err, errno) {
		if l.isNews(op, path, many, err.Error()) {
			log.Infof("%s refused: %v", op, err)
		}
		return errno
	}
	switch errno {
	case 0, syscall.ENOENT, syscall.EINTR, syscall.EPERM, syscall.EEXIST, syscall.EROFS, syscall.ESTALE,
		syscall.ENODATA, syscall.ENOTSUP, syscall.ENOTEMPTY, syscall.ERANGE:
		return errno
	}
	log.Warnf("%s: %v", op, err)
	return errno
}

// Refusals returns the last few refusals, the newest first, each path and reason once.
func (l *Log) Refusals() []Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last)
}

// isNews records a refusal, of many with that reason only the last, and reports whether to log it.
func (l *Log) isNews(op, path string, many bool, why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	n := Refusal{Time: now, Operation: op, Path: "/" + archive.Printable(path), Reason: why}
	l.last = slices.DeleteFunc(l.last, func(o Refusal) bool { return (many || o.Path == n.Path) && o.Reason == n.Reason })
	l.last = slices.Insert(l.last, 0, n)
	l.last = l.last[:min(len(l.last), keptRefusals)]
	key := path + "\x00" + why
	if many {
		key = why
	}
	if at, logged := l.logged[key]; logged && now.Sub(at) < repeatAfter {
		return false
	}
	if l.logged == nil || len(l.logged) >= maxLogged {
		l.logged = map[string]time.Time{}
	}
	l.logged[key] = now
	return true
}
