package apiclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// The operations that return a content. Original and PDF are one route, but a deployment may have
// only one of them, so they are two operations; so are their HEAD requests.
var (
	OpOriginal     = Operation{"document/original", "read the original", rendition}
	OpPDF          = Operation{"document/pdf", "read the PDF", rendition}
	OpOriginalInfo = Operation{"document/original/info", "ask how long the original is", rendition}
	OpPDFInfo      = Operation{"document/pdf/info", "ask how long the PDF is", rendition}
	OpText         = Operation{"document/ocr-result", "read the recognised text", optional | rare | returnsContent | bulky}
	OpPreview      = Operation{"page/preview", "read the picture of a page", optional | rare | stored | returnsContent | bulky}
)

var (
	errRepresentation = errors.New("unknown representation")
	errEncoded        = errors.New("the content is compressed although it was asked for as it is")
	errNoContent      = errors.New("the answer is no content")
	errNoRange        = errors.New("a part of the content that was not asked for")
)

// Content returns a document's bytes in the wanted representation. The caller closes the body;
// ctx ends it, too. Once the head of the answer has arrived the request is not repeated: a body
// that breaks or ends early returns an *archive.Error (archive.KindInterrupted or
// archive.KindTimeout), never io.EOF, and the caller may request the rest by Offset and Match.
func (c *Client) Content(ctx context.Context, want archive.ContentRequest) (*archive.Content, error) {
	if want.Representation == archive.Data {
		return c.dataContent(ctx, want.Document)
	}
	r := contentRequest(http.MethodGet, want)
	if want.NoneMatch != "" {
		r.header.Set("If-None-Match", want.NoneMatch)
	}
	// If-Range takes strong validators only (RFC 9110, section 13.1.5).
	if want.Offset > 0 && !strings.HasPrefix(want.Match, "W/") {
		r.header.Set("Range", byteRange(want))
		if want.Match != "" {
			r.header.Set("If-Range", want.Match)
		}
	}
	var content *archive.Content
	var changed bool
	err := c.service.exchange(ctx, r, func(resp *http.Response) (err error) {
		content, changed, err = newContent(r, want, resp)
		if err != nil || content.Body == nil {
			discard(resp.Body)
		}
		return unexpected(r.op, resp, err)
	})
	if err != nil {
		return nil, err
	}
	if changed {
		want.Offset = 0
		return c.Content(ctx, want)
	}
	return content, nil
}

// ContentInfo returns what Content would, without a body, by a HEAD request. Only
// archive.Original and archive.PDF have one; for others the error is archive.KindUnsupported. A
// length of 0 may be wrong: many services that build no body for HEAD send it.
func (c *Client) ContentInfo(ctx context.Context, doc archive.ID, as archive.Representation) (*archive.Content, error) {
	if as != archive.Original && as != archive.PDF {
		return nil, &archive.Error{Op: "ask how long the " + as.String() + " is", Kind: archive.KindUnsupported}
	}
	r := contentRequest(http.MethodHead, archive.ContentRequest{Document: doc, Representation: as})
	whole := r.op
	if r.op = OpPDFInfo; as == archive.Original {
		r.op = OpOriginalInfo
	}
	if c.service.support.lacks(whole, doc) {
		return nil, &archive.Error{Op: r.op.doing, Kind: archive.KindUnsupported, Err: errRemembered}
	}
	var content *archive.Content
	err := c.service.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		if foreignPage(r, resp) {
			return unexpected(r.op, resp, errWebPage)
		}
		content = describe(resp)
		content.Size = resp.ContentLength
		if content.Size < 0 || isEncoded(resp) {
			content.Size = archive.SizeUnknown
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.service.support.learn(whole, SupportYes)
	return content, nil
}

func (c *Client) dataContent(ctx context.Context, doc archive.ID) (*archive.Content, error) {
	data, err := c.Data(ctx, doc)
	if err != nil {
		return nil, err
	}
	return &archive.Content{
		Body:        io.NopCloser(bytes.NewReader(data.Raw)),
		Size:        int64(len(data.Raw)),
		ContentType: mediaJSON,
	}, nil
}

// previewBox is the longest side of a preview in pixels where none is wanted: a page of A4 at some 200 dpi.
const previewBox = 2400

// contentRequest returns the request for a representation. It asks for no content coding, which
// would change the length.
func contentRequest(method string, want archive.ContentRequest) *request {
	doc := want.Document
	r := &request{
		op: OpPDF, method: method, path: documentPath(doc, "pdf"), repeat: harmless,
		header: http.Header{"Accept": {acceptAny}, "Accept-Encoding": {"identity"}},
	}
	switch want.Representation {
	case archive.Original:
		r.op, r.query = OpOriginal, url.Values{"original": {"true"}}
	case archive.PDF:
	case archive.Annotated:
		r.query = url.Values{"annotations": {"stamp,text,symbol,note"}}
	case archive.Text:
		r.op, r.path = OpText, documentPath(doc, "ocr-result")
	case archive.Preview:
		r.op, r.path = OpPreview, "/page/"+doc.String()+"/preview"
		side := strconv.Itoa(cmp.Or(want.Box, previewBox))
		r.query = url.Values{"bbox-width": {side}, "bbox-height": {side}}
	default:
		r.refuse(errRepresentation)
	}
	return r.about(doc)
}

// newContent returns the content in resp. changed means that it is a part of another content than want.Match.
func newContent(r *request, want archive.ContentRequest, resp *http.Response) (content *archive.Content, changed bool, err error) {
	content = describe(resp)
	switch {
	case resp.StatusCode == http.StatusNotModified:
		content.NotModified = true
		return content, false, nil
	case foreignPage(r, resp):
		return nil, false, errWebPage
	case isEncoded(resp):
		return nil, false, errEncoded
	case resp.StatusCode == http.StatusOK:
		content.Body, content.Size = resp.Body, resp.ContentLength
		return content, false, nil
	case resp.StatusCode != http.StatusPartialContent:
		return nil, false, errNoContent
	case r.header.Get("Range") == "":
		return nil, false, errNoRange
	case want.Match != "" && content.ETag != want.Match:
		return content, want.Length == 0, nil
	}
	part, err := parseContentRange(resp.Header.Get("Content-Range"))
	if err != nil {
		return nil, false, err
	}
	if part.first != want.Offset {
		return nil, false, fmt.Errorf("%w: from byte %d instead of %d", errNoRange, part.first, want.Offset)
	}
	content.Offset, content.Size = part.first, part.total
	content.Body = resp.Body
	switch {
	case want.Length > 0:
		content.Body = &complete{ReadCloser: resp.Body, op: r.op, left: part.last + 1 - part.first}
	case part.total != archive.SizeUnknown:
		content.Body = &complete{ReadCloser: resp.Body, op: r.op, left: part.total - part.first}
	}
	return content, false, nil
}

// byteRange is the Range field for the wanted bytes.
func byteRange(want archive.ContentRequest) string {
	field := "bytes=" + strconv.FormatInt(want.Offset, 10) + "-"
	if want.Length > 0 {
		field += strconv.FormatInt(want.Offset+want.Length-1, 10)
	}
	return field
}

// describe returns the content without body and length.
func describe(resp *http.Response) *archive.Content {
	return &archive.Content{
		Size: archive.SizeUnknown, ETag: resp.Header.Get("ETag"), ContentType: resp.Header.Get("Content-Type"),
	}
}

func isEncoded(resp *http.Response) bool {
	coding := resp.Header.Get("Content-Encoding")
	return resp.Uncompressed || coding != "" && !strings.EqualFold(coding, "identity")
}

// foreignPage reports whether a web page that the service itself sends is no content: after a redirect,
// or in place of a PDF, a text or a picture. An original may be one.
func foreignPage(r *request, resp *http.Response) bool {
	original := r.op == OpOriginal || r.op == OpOriginalInfo
	redirected := resp.Request != nil && resp.Request.Response != nil
	return r.page && (redirected || !original) && isPage(r.op, resp)
}

var (
	errContentRange = errors.New("the Content-Range field cannot be read")
	errShort        = errors.New("the answer ends before the content does")
	errLong         = errors.New("the answer goes on after the content's end")
)

type contentRange struct {
	first, last int64
	total       int64 // archive.SizeUnknown for "*"
}

// parseContentRange reads "bytes 5-9/10" or "bytes 5-9/*" (RFC 9110, section 14.4).
func parseContentRange(field string) (contentRange, error) {
	unit, rest, _ := strings.Cut(field, " ")
	span, total, _ := strings.Cut(rest, "/")
	first, last, ok := strings.Cut(span, "-")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return contentRange{}, errContentRange
	}
	part := contentRange{total: archive.SizeUnknown}
	for _, number := range []struct {
		text string
		into *int64
	}{{first, &part.first}, {last, &part.last}, {total, &part.total}} {
		if number.text == "*" && number.into == &part.total {
			continue
		}
		n, err := strconv.ParseUint(number.text, 10, 63)
		if err != nil {
			return contentRange{}, errContentRange
		}
		*number.into = int64(n)
	}
	if part.last < part.first || part.total != archive.SizeUnknown && part.last >= part.total {
		return contentRange{}, errContentRange
	}
	return part, nil
}

// complete is a body that must have left bytes more: a service may shorten a range.
type complete struct {
	io.ReadCloser
	op   Operation
	left int64
}

func (b *complete) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		return 0, &archive.Error{Op: b.op.doing, Kind: archive.KindProtocol, Err: errLong}
	case errors.Is(err, io.EOF) && b.left > 0:
		err = &archive.Error{Op: b.op.doing, Kind: archive.KindInterrupted, Err: errShort}
	}
	return n, err
}
