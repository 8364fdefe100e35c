package store

import (
	"context"
	"fmt"
	"time"
)

// Index is the search index of all tenants: the texts of contents, and the metadata of documents.
type Index struct{ *database }

// Unindexed is a content whose text is to be added to the index. It is claimed by one process for some time.
type Unindexed struct {
	Digest      string
	ContentType string
	Size        int64
	Attempts    int // this one included
	id          int64
	state       Reading
}

// Reading is what came of reading the text of a content.
type Reading string

// The states of a text. Of a Scan the text is known that needs no recognition.
const (
	Waiting    Reading = "waiting"
	Scan       Reading = "scan" // its pages wait to be recognised
	Read       Reading = "yes"
	NoText     Reading = "none"
	NoEngine   Reading = "no engine" // a program is missing
	Unreadable Reading = "unreadable"
)

const (
	// inHand is how long a claim lasts. Several contents are claimed together; a text takes a minute at most.
	inHand = 30 * time.Minute
	// maxAttempts is how often extracting a text is tried.
	maxAttempts = 3
	// tryAgain is the pause after a failure, times the number of attempts.
	tryAgain = 5 * time.Minute
	// latest is longer than any pause: a later due time was set while the clock was ahead, and counts as due now.
	latest = 24 * time.Hour
)

const isDue = " AND (due <= ? OR due > ?)"

// skipLocked ends a query within a change: rows that another change has locked are skipped.
const skipLocked = forUpdate + " SKIP LOCKED"

// ClaimContents claims at most limit contents, Waiting or Scan, whose text is to be added to the index. Each
// must be passed to AddText, PutOff or Release, and to Renew if that takes long. A content has failed if it was
// claimed maxAttempts times without a result: extracting its text probably killed the process.
func (i *Index) ClaimContents(ctx context.Context, state Reading, limit int) (claimed []Unindexed, err error) {
	now, due := time.Now(), "state = '"+string(state)+"'"+isDue // written out for the indexes of a state
	some, err := single[bool](ctx, i.read, "look for contents", "SELECT EXISTS (SELECT 1 FROM content WHERE "+due+")", now.Unix(), now.Add(latest).Unix())
	if err != nil || !some {
		return nil, err
	}
	err = i.write.change(ctx, func(tx changing) error {
		err := run(ctx, tx, "give up contents", `UPDATE content SET state = 'unreadable', reason = 'the service ended while the text was being extracted'
			WHERE attempts >= ? AND `+due, maxAttempts, now.Unix(), now.Add(latest).Unix())
		if err != nil {
			return err
		}
		claimed, err = collect(ctx, tx, "look for contents", func(row scanner) (u Unindexed, err error) {
			u.state = state
			err = row.Scan(&u.id, &u.Digest, &u.ContentType, &u.Size, &u.Attempts)
			return u, err
		}, "SELECT id, digest, content_type, size, attempts + 1 FROM content WHERE "+due+" ORDER BY due, id LIMIT ?"+skipLocked, now.Unix(), now.Add(latest).Unix(), limit)
		if err != nil {
			return err
		}
		for _, u := range claimed {
			if _, err := tx.exec(ctx, "UPDATE content SET attempts = ?, due = ? WHERE id = ?", u.Attempts, now.Add(inHand).Unix(), u.id); err != nil {
				return fmt.Errorf("claim content: %w", err)
			}
		}
		return nil
	})
	return claimed, err
}

// AddText adds the text of a content to the index, or its first MiB, and records what came of it, for
// NoEngine with the package that is missing. It ignores a content that no document has any more.
func (i *Index) AddText(ctx context.Context, u Unindexed, text string, state Reading, reason string) error {
	v := vectorOf(text)
	return i.handled(ctx, u, func(tx changing) error {
		if len(v.words) > 0 {
			if err := i.indexText(ctx, tx, u.id, v); err != nil {
				return fmt.Errorf("index text: %w", err)
			}
		}
		return nil
	}, "state = ?, reason = ?, attempts = 0, due = 0", string(state), bounded(reason))
}

// Renew claims a content for some more time.
func (i *Index) Renew(ctx context.Context, u Unindexed) error {
	return i.handled(ctx, u, nil, "due = ?", time.Now().Add(inHand).Unix())
}

// Installed has the contents read again that lacked one of these packages.
func (i *Index) Installed(ctx context.Context, packages []string) error {
	return i.write.change(ctx, func(tx changing) error {
		for _, name := range packages {
			err := run(ctx, tx, "read texts again", "UPDATE content SET state = 'waiting', reason = '' WHERE state = 'no engine' AND reason = ?", name)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// PutOff schedules another attempt for a content whose text could not be extracted, or gives it up.
func (i *Index) PutOff(ctx context.Context, u Unindexed, reason string) error {
	if u.Attempts >= maxAttempts {
		return i.handled(ctx, u, nil, "state = 'unreadable', reason = ?", bounded(reason))
	}
	due := time.Now().Add(time.Duration(u.Attempts) * tryAgain)
	return i.handled(ctx, u, nil, "reason = ?, due = ?", bounded(reason), due.Unix())
}

// Release returns a content without counting the attempt. It can be claimed again from then on.
func (i *Index) Release(ctx context.Context, u Unindexed, reason string, then time.Time) error {
	return i.handled(ctx, u, nil, "attempts = ?, reason = ?, due = ?", u.Attempts-1, bounded(reason), then.Unix())
}

// handled records the result for a claimed content, unless another claim has replaced this one or the
// content was removed.
func (i *Index) handled(ctx context.Context, u Unindexed, do func(changing) error, set string, args ...any) error {
	return i.write.change(ctx, func(tx changing) error {
		n, err := affected(tx.exec(ctx, "UPDATE content SET "+set+" WHERE id = ? AND digest = ? AND state = ? AND attempts = ?",
			append(args, u.id, u.Digest, string(u.state), u.Attempts)...))
		if err != nil || n == 0 || do == nil {
			return wrapped("change content", err)
		}
		return do(tx)
	})
}

// Texts counts the contents of all tenants by the state of their text.
func (i *Index) Texts(ctx context.Context) (map[Reading]int64, error) {
	counts := map[Reading]int64{}
	return counts, eachRow(ctx, i.read, "count texts", func(row scanner) error {
		var state Reading
		var n int64
		err := row.Scan(&state, &n)
		counts[state] += n
		return err
	}, "SELECT replace(state, 'scan', 'waiting'), count(*) FROM content GROUP BY 1")
}

// Unread returns at most limit contents after a digest whose text could not be read, or not yet, with the reason.
func (i *Index) Unread(ctx context.Context, after string, limit int) ([]Reason, error) {
	return collect(ctx, i.read, "list contents", func(row scanner) (r Reason, err error) {
		err = row.Scan(&r.Digest, &r.State, &r.Text)
		return r, err
	}, "SELECT digest, state, reason FROM content WHERE reason != '' AND digest > ? ORDER BY digest LIMIT ?", after, limit)
}

// Reason is why the text of a content is not in the index.
type Reason struct {
	Digest string
	State  Reading
	Text   string
}

// saidAtOnce is how many documents are added to the index in one transaction. It takes some 20 ms, for
// which other changes wait.
const saidAtOnce = 100

// IndexSaid adds the metadata of some documents to the index, and reports whether there are more.
// Searches also find documents that are not in it, but have to read each of them.
func (i *Index) IndexSaid(ctx context.Context) (more bool, err error) {
	err = i.write.change(ctx, func(tx changing) error {
		more, err = i.indexSaid(ctx, tx, saidAtOnce)
		return err
	})
	return more, err
}
