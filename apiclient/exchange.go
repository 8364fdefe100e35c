package apiclient

import (
	"context"
	"errors"
	"net/http"

	"github.com/archivefs/archivefs/archive"
)

// errRemembered explains an answer that no request was made for.
var errRemembered = errors.New("as an earlier answer showed")

// exchange sends r, repeated as it may be, hands the answer to read, and learns from it
// whether the deployment has the operation.
func (c *Client) exchange(ctx context.Context, r *request, read func(*http.Response) error) error {
	if !r.op.optional() {
		return c.repeat(ctx, r, read)
	}
	if c.support.lacks(r.op, r.document) {
		return &archive.Error{Op: string(r.op), Kind: archive.KindUnsupported, Err: errRemembered}
	}
	err := c.repeat(ctx, r, read)
	var e *archive.Error
	switch {
	case err == nil:
		c.support.learn(r.op, SupportYes)
	case errors.As(err, &e) && e.Status != 0:
		c.judge(ctx, r, e)
	}
	return err
}

// judge tells a missing operation from a missing document. 405 and 501 are about the
// route. 404 is about the document, unless its data can be read (specification,
// endpoint 8) and the operation has never answered: then the deployment lacks it. Of a
// content that takes two documents: with one alone it is unsupported for that document. Of
// a text or a preview 404 is always about the document. An operation about no document
// (search) is what is missing.
func (c *Client) judge(ctx context.Context, r *request, e *archive.Error) {
	switch e.Kind {
	case archive.KindUnsupported:
		c.support.learn(r.op, SupportNo)
	case archive.KindNotFound:
		if r.op.rare() || c.support.of(r.op) == SupportYes {
			return
		}
		if r.document != 0 && !c.there(ctx, r) {
			return
		}
		e.Kind = archive.KindUnsupported
		if r.op.perDocument() && !c.support.suspect(r.op, r.document) {
			return
		}
		c.support.learn(r.op, SupportNo)
		c.log.WithField("operation", string(r.op)).Info("the service lacks the operation")
	}
}

// there reports whether the document of r is there. For a content that was a moment ago
// too, so that a service which has none is not asked after each request.
func (c *Client) there(ctx context.Context, r *request) bool {
	if r.op.perDocument() && c.support.sawLately(r.document) {
		return true
	}
	if _, err := c.Data(ctx, r.document); err != nil {
		return false
	}
	c.support.saw(r.document)
	return true
}
