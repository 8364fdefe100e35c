package errno

import (
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// repeatAfter is how long a refusal that was logged is not logged again. Desktops try some
// things over and over.
const repeatAfter = time.Minute

// maxLogged bounds the refusals that are remembered.
const maxLogged = 1024

// keptRefusals is how many refusals Log.Refusals has.
const keptRefusals = 8

// Refusal is a change that was refused.
type Refusal struct {
	Time      time.Time `json:"time"`
	Operation string    `json:"operation"`
	Path      string    `json:"path"`
	Reason    string    `json:"reason"`
}

// Log makes errnos of errors and logs them. It is safe for concurrent use.
type Log struct {
	log logrus.FieldLogger
	now func() time.Time

	mu sync.Mutex
	// logged is when, by path and reason.
	logged map[string]time.Time // +checklocks:mu
	// last has the newest first.
	last []Refusal // +checklocks:mu
}

// NewLog makes a Log that writes to log, with the time that now says.
func NewLog(log logrus.FieldLogger, now func() time.Time) *Log { return &Log{log: log, now: now} }

// Of is the errno of an error that an operation on a path ended with. It reports the error to
// the log, unless it is an answer that programs ask for all the time. Of a refusal the log
// says why.
func (l *Log) Of(op, path string, err error) syscall.Errno {
	errno := Of(err)
	log := l.log.WithField("path", archive.Printable(path))
	if refused(err, errno) {
		if l.isNews(op, path, err.Error()) {
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

// Refusals are the last few, the newest first, each path and reason once.
func (l *Log) Refusals() []Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last)
}

// isNews takes note of a refusal and reports whether it is to be logged now.
func (l *Log) isNews(op, path, why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	n := Refusal{Time: now, Operation: op, Path: "/" + archive.Printable(path), Reason: why}
	l.last = slices.DeleteFunc(l.last, func(o Refusal) bool { return o.Path == n.Path && o.Reason == n.Reason })
	l.last = slices.Insert(l.last, 0, n)
	l.last = l.last[:min(len(l.last), keptRefusals)]
	key := path + "\x00" + why
	if at, logged := l.logged[key]; logged && now.Sub(at) < repeatAfter {
		return false
	}
	if l.logged == nil || len(l.logged) >= maxLogged {
		l.logged = map[string]time.Time{}
	}
	l.logged[key] = now
	return true
}
