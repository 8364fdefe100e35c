package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// The locks are advisory ones, which PostgreSQL gives up when their transaction ends, in
// whatever way. Each is a number. That two names have the same one is as unlikely as that two
// contents share the first half of a digest, and would only make somebody wait.

func (postgres) lock(ctx context.Context, tx session, name string) error {
	return locked(tx.row(ctx, "SELECT count(pg_advisory_xact_lock(?))", number(name)))
}

func (postgres) share(ctx context.Context, tx session, digests []string) error {
	numbers := make([]int64, 0, len(digests))
	for _, digest := range digests {
		numbers = append(numbers, number(digest))
	}
	all, err := encode(numbers)
	if err != nil {
		return err
	}
	return locked(tx.row(ctx, `SELECT count(pg_advisory_xact_lock_shared(n))
		FROM (SELECT value FROM json_each(?)) AS numbers (n)`, all))
}

func (postgres) claim(ctx context.Context, tx session, digest string) (alone bool, err error) {
	if err := tx.row(ctx, "SELECT pg_try_advisory_xact_lock(?)", number(digest)).Scan(&alone); err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	return alone, nil
}

func (postgres) removable(ctx context.Context, tx session) (nobodyHolds bool, err error) {
	if err := tx.row(ctx, "SELECT pg_try_advisory_xact_lock_shared(?)", number(lockRemoval)).Scan(&nobodyHolds); err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	return nobodyHolds, nil
}

func locked(row scanner) error {
	var n int
	if err := row.Scan(&n); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// number is that of a lock: the first digits of a digest, or those of a hash of another name.
func number(name string) int64 {
	first, err := hex.DecodeString(name)
	if err != nil || len(first) != sha256.Size {
		sum := sha256.Sum256([]byte(name))
		first = sum[:]
	}
	return int64(binary.BigEndian.Uint64(first)) //nolint:gosec // any of the numbers will do
}
