package server

import (
	"errors"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
)

// The reasons for which somebody is not let in, or not to what they ask for, beside those of
// package gate.
const (
	twice       gate.Reason = "twice"        // a header is there twice
	otherScheme gate.Reason = "other-scheme" // the Authorization is not Basic
	incomplete  gate.Reason = "incomplete"   // the key of the options, without what belongs beside it
	noScope     gate.Reason = "scope"
	noMandator  gate.Reason = "mandator" // it belongs to one that the key is not for
)

// deny refuses what is asked for with credentials that are good for other things.
func deny(why gate.Reason, kind archive.Kind, format string, args ...any) error {
	return &gate.Refusal{Reason: why, Told: refuse(kind, format, args...)}
}

// denial is the reason of an error for which somebody is not let in, empty when that is not why.
func denial(err error) gate.Reason {
	refusal := new(gate.Refusal)
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Reason
}

// nothing says that something is not there, as err does in other words. Whether it is there for
// others is not told.
func nothing(err error, format string, args ...any) error {
	if why := denial(err); why != "" {
		return deny(why, archive.KindNotFound, format, args...)
	}
	return refuse(archive.KindNotFound, format, args...)
}

// elsewhere says that what belongs to a mandator that the key is not for is not there.
func elsewhere(format string, args ...any) error {
	return deny(noMandator, archive.KindNotFound, format, args...)
}
