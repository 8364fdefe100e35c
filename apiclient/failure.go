package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"syscall"

	"github.com/archivefs/archivefs/archive"
)

// ended returns the error of a request that the caller's context ended: its deadline
// is a time-out, its cancellation is nothing the service did. last, when set, is what
// the service did before.
func ended(ctx context.Context, op Operation, last error) *archive.Error {
	e := &archive.Error{Op: string(op), Kind: archive.KindOther, Err: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind = archive.KindTimeout
	}
	if last != nil && !errors.Is(last, ctx.Err()) {
		e.Err = fmt.Errorf("%w, after %w", ctx.Err(), last)
	}
	return e
}

// failure classes what net/http reported by what may have reached the service.
func (a *attempt) failure(err error) *archive.Error {
	e := &archive.Error{Op: string(a.op), Err: inWords(bare(err))}
	unsent := a.dialled.Load() && !a.connected.Load() || errors.Is(err, errProxy)
	var (
		redirect *redirectError
		distrust *tls.CertificateVerificationError
	)
	switch sending := a.body.failure(); {
	case a.caller.Err() != nil:
		return ended(a.caller, a.op, nil)
	case sending != nil:
		e.Kind, e.Err = archive.KindOther, fmt.Errorf("reading what is to be sent: %w", sending)
	case errors.As(err, &redirect):
		e.Kind = archive.KindProtocol
	case errors.As(err, &distrust):
		e.Kind, e.Err = archive.KindUnreachable, fmt.Errorf("the service's certificate is not trusted: %w", distrust)
	case errors.Is(context.Cause(a.ctx), errStalled) && unsent:
		e.Kind, e.Err = archive.KindUnreachable, fmt.Errorf("no connection within %s", a.sender.stall)
	case errors.Is(context.Cause(a.ctx), errStalled):
		e.Kind, e.Err = archive.KindTimeout, fmt.Errorf("%w for %s", errStalled, a.sender.stall)
	case unsent:
		e.Kind = archive.KindUnreachable
	default:
		e.Kind = archive.KindInterrupted
	}
	return e
}

// bare takes the address off an error of net/http: its query may hold what belongs in
// no log.
func bare(err error) error {
	for {
		quoting, ok := err.(*url.Error) //nolint:errorlint // only the outermost one quotes the address
		if !ok {
			return err
		}
		err = quoting.Err
	}
}

// transportError says what net/http reported as people say it, and without the addresses of
// sockets, which the cause quotes.
type transportError struct {
	words string
	cause error
}

func inWords(err error) *transportError { return &transportError{words: plain(err), cause: err} }

// Error implements error.
func (e *transportError) Error() string { return e.words }

// Unwrap returns what net/http reported.
func (e *transportError) Unwrap() error { return e.cause }

// closings are the errors of a connection that the other side has closed. The transport then
// closes its own side, which is what a write under way finds.
var closings = []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNABORTED}

func plain(err error) string {
	var (
		name  *net.DNSError
		slow  net.Error
		cause syscall.Errno
		op    *net.OpError
	)
	isOp := errors.As(err, &op)
	switch {
	case isOp && op.Op == "proxyconnect":
		return "the proxy: " + plain(op.Err)
	case errors.As(err, &name):
		return "the name " + name.Name + " cannot be looked up: " + name.Err
	case slices.ContainsFunc(closings, func(end error) bool { return errors.Is(err, end) }):
		return "the other side closed the connection"
	case errors.As(err, &slow) && slow.Timeout():
		return "no answer in time"
	case errors.As(err, &cause):
		return cause.Error()
	case isOp && (op.Source != nil || op.Addr != nil):
		return plain(op.Err)
	}
	return err.Error()
}
