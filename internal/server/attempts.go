package server

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// failedFor is how long what could not be made of a content is not tried again. A machine that was
	// busy may manage it later.
	failedFor = 10 * time.Minute
	// failuresKept is how many failures are remembered.
	failuresKept = 4096
)

// attempt is something that is made of a content: a page of it as a picture, counted from 0, or its text.
type attempt struct {
	digest string
	page   int
}

// The pages of attempts to find out a text, the second one while a search is answered.
const (
	allText      = -1
	searchedText = -2
)

// attempts remembers what could not be made of contents, so that nobody waits for it once more, and it
// takes nobody's place.
type attempts struct {
	failed *lru.Cache[attempt, failure]
}

// failure is when an attempt failed, and the longest side of the picture in pixels. A smaller one takes
// less, and may succeed.
type failure struct {
	at   time.Time
	side int
}

func newAttempts() attempts {
	failed, _ := lru.New[attempt, failure](failuresKept) // the size is a constant that is right
	return attempts{failed}
}

// vain reports whether an attempt would fail.
func (a attempts) vain(what attempt, side int) bool {
	failed, known := a.failed.Get(what)
	return known && side >= failed.side && time.Since(failed.at) < failedFor
}

// fail remembers that an attempt has failed.
func (a attempts) fail(what attempt, side int) {
	if failed, known := a.failed.Get(what); known && time.Since(failed.at) < failedFor {
		side = min(side, failed.side)
	}
	a.failed.Add(what, failure{time.Now(), side})
}
