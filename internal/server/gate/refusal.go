package gate

import (
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Reason says in a word why somebody is not let in.
type Reason string

// The reasons of this package. That a password was not looked at is one, too: TooManyTries when
// too many were wrong, Busy when too many are being checked.
const (
	NoCredentials Reason = "no-credentials" // no API key
	Mixed         Reason = "mixed"          // a Cloud-ID and a user
	UnknownKey    Reason = "unknown-key"
	Expired       Reason = "expired"
	Revoked       Reason = "revoked"
	WrongCloudID  Reason = "wrong-cloud-id"
	UnknownUser   Reason = "unknown-user"
	WrongPassword Reason = "wrong-password"
	TooManyTries  Reason = "too-many-tries"
	Busy          Reason = "busy"
)

// Refusal is the error of credentials that are not good for what is asked. Who shows them is
// told what Told says and no more; all else is for the operator.
type Refusal struct {
	Reason Reason
	Key    store.Key     // the one that was shown, zero when there is none such
	User   store.Account // likewise
	Told   error
}

// Error implements error.
func (r *Refusal) Error() string { return r.Told.Error() }

// Unwrap returns what is told.
func (r *Refusal) Unwrap() error { return r.Told }

// OfUser reports whether it is the user or the password that is wrong, and not the key.
func (r *Refusal) OfUser() bool { return r.Reason == UnknownUser || r.Reason == WrongPassword }

// Refuse refuses what is shown. Whatever is wrong with it, the same is told.
func Refuse(why Reason, key store.Key, user store.Account) *Refusal {
	told := &archive.Error{Op: "credentials", Kind: archive.KindUnauthorized, Detail: "the credentials of one accepted set are needed"}
	switch why {
	case TooManyTries:
		told.Kind, told.Detail = archive.KindBusy, "too many wrong passwords; try again in a minute"
	case Busy:
		told.Kind, told.Detail = archive.KindBusy, "too many passwords are being checked; try again in a moment"
	}
	return &Refusal{Reason: why, Key: key, User: user, Told: told}
}
