package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

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
	e := &archive.Error{Op: string(a.op), Err: bare(err)}
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
		e.Kind, e.Err = archive.KindUnreachable, fmt.Errorf("no connection within %s", a.client.stall)
	case errors.Is(context.Cause(a.ctx), errStalled):
		e.Kind, e.Err = archive.KindTimeout, fmt.Errorf("%w for %s", errStalled, a.client.stall)
	case unsent:
		e.Kind = archive.KindUnreachable
	default:
		e.Kind = archive.KindInterrupted
	}
	return e
}
