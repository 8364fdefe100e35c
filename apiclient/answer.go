package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/archivefs/archivefs/archive"
)

// Limits of answers that are read as a whole, in bytes. Lists and structures have none.
const (
	dataLimit  = 64 << 20 // document data
	smallLimit = 1 << 20  // ids, metadata
)

// errWebPage is what a login page of a proxy or a wrong base URL gives.
var errWebPage = errors.New("the answer is a web page: is the base URL right, or does a proxy ask for a login?")

// stream sends r and has decode read its JSON answer value by value; decode runs anew
// for each repetition. What follows the value is refused.
func (c *Client) stream(ctx context.Context, r *request, decode func(*jsonReader) error) error {
	return c.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		if isWebPage(resp) {
			return unexpected(r.op, resp, errWebPage)
		}
		reader, err := newJSONReader(resp.Body)
		if err == nil {
			err = decode(reader)
		}
		if err == nil {
			err = reader.end()
		}
		return unexpected(r.op, resp, err)
	})
}

// whole sends r and returns its answer's body, at most limit bytes of it and perhaps
// none.
func (c *Client) whole(ctx context.Context, r *request, limit int64) ([]byte, error) {
	var text []byte
	err := c.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		if isWebPage(resp) {
			return unexpected(r.op, resp, errWebPage)
		}
		var err error
		if text, err = io.ReadAll(io.LimitReader(resp.Body, limit+1)); err == nil && int64(len(text)) > limit {
			err = fmt.Errorf("the answer is longer than %d bytes", limit)
		}
		if text = trimBOM(text); err == nil && startsMarkup(text) {
			err = errWebPage
		}
		return unexpected(r.op, resp, err)
	})
	return text, err
}

// acknowledge sends r, whose answer has no body that is described.
func (c *Client) acknowledge(ctx context.Context, r *request) error {
	return c.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		// The status has told the success; a body that breaks off changes nothing.
		text, _ := io.ReadAll(io.LimitReader(resp.Body, drainLimit))
		if isWebPage(resp) || startsMarkup(trimBOM(text)) {
			return unexpected(r.op, resp, errWebPage)
		}
		return nil
	})
}

// decodeWhole decodes a whole JSON answer into v.
func decodeWhole(op Operation, text []byte, v any) error {
	err := errEmpty
	if len(bytes.TrimSpace(text)) > 0 {
		err = lenient(json.Unmarshal(text, v))
	}
	if err == nil {
		return nil
	}
	return &archive.Error{Op: string(op), Kind: archive.KindProtocol, Err: atOffset(err)}
}

// atOffset says of an error in JSON where it is.
func atOffset(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &offsetError{syntax.Offset, err}
	}
	return err
}

// unexpected makes an error of decoding one of the operation; errors of the transport
// are so already.
func unexpected(op Operation, resp *http.Response, err error) error {
	var e *archive.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &archive.Error{Op: string(op), Kind: archive.KindProtocol, Status: resp.StatusCode, Err: err}
}

// isWebPage reports whether resp says that it is HTML.
func isWebPage(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (media == "text/html" || media == "application/xhtml+xml")
}
