package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

// What mounts that have ended left, and how people learn of it.

// spoolOf is where uploads lie in a state directory.
func spoolOf(state string) string { return filepath.Join(state, "spool") }

// receiptsOf is where a state directory keeps what the archive confirmed.
func receiptsOf(state string) string { return filepath.Join(state, "receipts.jsonl") }

// leftBehind is a state directory in which uploads wait, and that no mount uses.
type leftBehind struct {
	config.Bound
	uploads int
}

// leftBehindAt finds the directories of a service (any for an empty address) with whichever
// credentials, but for the one that is named.
func leftBehindAt(service, but string) []leftBehind {
	bound, _ := config.AllBound(but) // where nothing can be read nothing is said
	var all []leftBehind
	for _, b := range bound {
		if service != "" && !strings.HasPrefix(b.Identity, service+" ") || b.Busy() {
			continue
		}
		if n, err := spool.Waiting(spoolOf(b.State)); err == nil && n > 0 {
			all = append(all, leftBehind{b, n})
		}
	}
	return all
}

// caller is whose credentials the uploads are for, without a secret.
func (l *leftBehind) caller() string {
	_, caller, _ := strings.Cut(l.Identity, " ")
	return caller
}

// inWords says how many uploads wait, and where.
func (l *leftBehind) inWords() string {
	return fmt.Sprintf("%s for this service in %s, of a mount with other credentials (%s)", doing(l.uploads, "upload", "waits", "wait"), l.State, l.caller())
}

// reach says how what waits in a state directory is reached.
func reach(state string) string {
	state = doctor.Quoted(state)
	return fmt.Sprintf("archivefs uploads list %s shows what waits there, and archivefs uploads export %s saves it", state, state)
}

// tellLeftBehind warns of what waits for the service in other state directories: this mount
// does not send it.
func (s *session) tellLeftBehind() {
	if s.settings.embedded {
		return // its archive has one directory
	}
	for _, l := range leftBehindAt(s.client.BaseURL(), s.dirs.State) {
		s.log.Warnf("%s; %s", l.inWords(), reach(l.State))
	}
}

// waiting says what waits in the state directory of a mount that does not begin, empty when
// nothing does.
func (s *session) waiting() string {
	left := s.left()
	n := left.failed + left.pending.uploads
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s in %s; %s", doing(n, "upload", "waits", "wait"), s.dirs.State, reach(s.dirs.State))
}

// goesOn says what becomes of what a mount leaves in its state directory.
func goesOn(state string, refused bool) string {
	if refused {
		return reach(state)
	}
	return "mount again: what is pending goes on; until then archivefs uploads list " + doctor.Quoted(state) + " shows them all"
}
