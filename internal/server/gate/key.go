package gate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// NewKey makes an API key. Only its hash is kept.
func NewKey() string { return rand.Text() }

// HashKey is what is kept of an API key: see the package comment.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// known is what the database said.
type known[T any] struct {
	what T
	at   time.Time
}

// key returns the key that is shown. It is looked up by its hash: how long that takes tells
// of the hash at most, which leads nobody to a key.
func (g *Gate) key(ctx context.Context, shown string) (store.Key, error) {
	hash := HashKey(shown)
	now := g.now()
	if k, ok := g.keys.Get(hash); ok && now.Sub(k.at) < freshFor {
		return k.what, nil
	}
	key, err := g.db.FindKey(ctx, hash)
	if err != nil {
		g.keys.Remove(hash)
		return store.Key{}, err
	}
	g.keys.Add(hash, known[store.Key]{key, now})
	return key, nil
}

// used notes in the database that a key was used, once in noteEvery. The request does not
// wait for it.
func (g *Gate) used(ctx context.Context, key store.Key) {
	now := g.now()
	if now.Sub(key.Used) < noteEvery || !g.note(key.ID, now) {
		return
	}
	g.writing.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
		defer cancel()
		if err := g.db.UseKey(ctx, key.ID, now, now.Add(-noteEvery)); err != nil {
			g.failed(fmt.Errorf("note when an API key was used: %w", err))
		}
	})
}

// note reports whether the use of a key is to be noted now.
func (g *Gate) note(id int64, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.noted[id]) < noteEvery {
		return false
	}
	g.noted[id] = now
	return true
}

// unknown reports whether err says that something is not there.
func unknown(err error) bool { return archive.KindOf(err) == archive.KindNotFound }
