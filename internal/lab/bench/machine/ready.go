//go:build linux

package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// errEnded says that a server ended before it was ready.
var errEnded = errors.New("it ended")

// Ready waits for something that the server does, which the error names, limit at most. It fails if the
// process ends before that.
func (p *Process) Ready(ctx context.Context, what string, limit time.Duration, ready func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer cancel()
	for !ready() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; the log is %s", what, context.Cause(ctx), p.log)
		case <-p.Ended():
			return fmt.Errorf("%s: %w; the log is %s", what, errEnded, p.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// Listens waits until the server accepts connections at an address.
func (p *Process) Listens(ctx context.Context, what, address string, limit time.Duration) error {
	var d net.Dialer
	return p.Ready(ctx, what, limit, func() bool {
		conn, err := d.DialContext(ctx, "tcp", address)
		return err == nil && conn.Close() == nil
	})
}
