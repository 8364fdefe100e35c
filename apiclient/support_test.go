package apiclient

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// contentCalls are those about a document's content.
var contentCalls = map[Operation]func(context.Context, *Client, archive.ID) error{
	OpOriginal:     contentOf(archive.Original),
	OpPDF:          contentOf(archive.PDF),
	OpOriginalInfo: infoOf(archive.Original),
	OpPDFInfo:      infoOf(archive.PDF),
}

func contentOf(as archive.Representation) func(context.Context, *Client, archive.ID) error {
	return func(ctx context.Context, c *Client, doc archive.ID) error {
		content, err := c.Content(ctx, archive.ContentRequest{Document: doc, Representation: as})
		if err != nil {
			return err
		}
		return content.Body.Close()
	}
}

func infoOf(as archive.Representation) func(context.Context, *Client, archive.ID) error {
	return func(ctx context.Context, c *Client, doc archive.ID) error {
		_, err := c.ContentInfo(ctx, doc, as)
		return err
	}
}

// A row of everyRequest is enough for an operation to be tried here, if a deployment may lack it.
func TestMissingOperations(t *testing.T) {
	for _, call := range everyRequest() {
		op := call.operation(t)
		if !op.is(optional) || op.is(rare) {
			continue
		}
		about := strings.Contains(call.want.line, " /document/4/")
		for _, tc := range []struct {
			name         string
			status, data int // answers to the operation, and to document data
			kind         archive.Kind
			support      Support
			requests     int // of two calls
		}{
			{"405", 405, 500, archive.KindUnsupported, SupportNo, 1},
			{"501", 501, 500, archive.KindUnsupported, SupportNo, 1},
			{"404, the document is there", 404, 200, archive.KindUnsupported, SupportNo, 2},
			{"404, the document is gone", 404, 404, archive.KindNotFound, SupportUnknown, 4},
			{"403", 403, 200, archive.KindForbidden, SupportUnknown, 2},
		} {
			if !about && tc.status == http.StatusNotFound { // whatever is there
				tc.kind, tc.support, tc.requests = archive.KindUnsupported, SupportNo, 1
			}
			t.Run(call.name+" "+tc.name, func(t *testing.T) {
				requests := 0
				c := newService(t, standing(func(w http.ResponseWriter, r *http.Request) {
					requests++
					if strings.HasSuffix(r.URL.Path, "/data") {
						reply(w, tc.data, mediaJSON, `{"id":4}`)
						return
					}
					reply(w, tc.status, "", "")
				}))
				for range 2 {
					wantKind(t, call.call(t.Context(), c), op, tc.kind)
				}
				want := tc.support
				if tc.status == http.StatusNotFound && op.is(perDocument) {
					want = SupportUnknown // it may be this document's alone
				}
				if got := c.Supports(op); got != want || requests != tc.requests {
					t.Errorf("support %s, want %s; %d requests, want %d", got, want, requests, tc.requests)
				}
				if got := c.LacksReplace(); got != (op == OpReplace && tc.support == SupportNo) {
					t.Errorf("replace is missing: %t", got)
				}
			})
		}
	}
}

// The content of one document may be lost: that says nothing about the next.
func TestOneDocumentWithoutContent(t *testing.T) {
	for op, call := range contentCalls {
		for name, tc := range map[string]struct {
			lost     string // documents without content
			kinds    [3]archive.Kind
			support  Support
			requests int
		}{
			"one": {"4", [3]archive.Kind{archive.KindUnsupported, archive.KindOther, archive.KindNotFound}, SupportYes, 4},
			"two": {"45", [3]archive.Kind{archive.KindUnsupported, archive.KindUnsupported, archive.KindUnsupported}, SupportNo, 4},
		} {
			t.Run(op.name+" "+name, func(t *testing.T) {
				requests := 0
				c := newService(t, standing(func(w http.ResponseWriter, r *http.Request) {
					requests++
					id := strings.Split(r.URL.Path, "/")[2]
					switch {
					case strings.HasSuffix(r.URL.Path, "/data"):
						reply(w, http.StatusOK, mediaJSON, `{"id":`+id+`}`)
					case strings.Contains(tc.lost, id):
						reply(w, http.StatusNotFound, "", "")
					default:
						reply(w, http.StatusOK, "", "x")
					}
				}))
				for i, doc := range []archive.ID{4, 5, 4} {
					if err := call(t.Context(), c, doc); archive.KindOf(err) != tc.kinds[i] {
						t.Errorf("call %d, of document %d: %v, want %s", i, doc, err, tc.kinds[i])
					}
				}
				if got := c.Supports(op); got != tc.support || requests != tc.requests {
					t.Errorf("support %s, want %s; %d requests, want %d", got, tc.support, requests, tc.requests)
				}
			})
		}
	}
}

func TestSupportIsForgottenAndLearnedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := http.StatusNotImplemented
		c := newBubbleService(t, standing(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/data") {
				reply(w, http.StatusOK, mediaJSON, `{"id":4}`)
				return
			}
			reply(w, status, "", "x")
		}))
		ask := readAll(archive.Original)
		wantKind(t, ask(t.Context(), c), OpOriginal, archive.KindUnsupported)
		status = http.StatusOK
		wantKind(t, ask(t.Context(), c), OpOriginal, archive.KindUnsupported)
		// Without the content there is no use in asking for its head.
		_, err := c.ContentInfo(t.Context(), 4, archive.Original)
		wantKind(t, err, OpOriginalInfo, archive.KindUnsupported)
		// The PDF is another operation.
		if err := readAll(archive.PDF)(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		time.Sleep(missingFor)
		if got := c.Supports(OpOriginal); got != SupportUnknown {
			t.Errorf("support %s after ten minutes", got)
		}
		if err := ask(t.Context(), c); err != nil || c.Supports(OpOriginal) != SupportYes {
			t.Errorf("support %s, %v", c.Supports(OpOriginal), err)
		}
		// An operation that has answered is not missing because of one document.
		status = http.StatusNotFound
		wantKind(t, ask(t.Context(), c), OpOriginal, archive.KindNotFound)
		if got := c.Supports(OpOriginal); got != SupportYes {
			t.Errorf("support %s after one document without an original", got)
		}
	})
}

// TestHeadProvesTheContent asks for the head of one document and then for the content of
// another, which is not there although its data are.
func TestHeadProvesTheContent(t *testing.T) {
	c := newService(t, standing(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/data"):
			reply(w, http.StatusOK, mediaJSON, `{"id":4}`)
		case r.Method == http.MethodHead:
			w.WriteHeader(http.StatusOK)
		default:
			reply(w, http.StatusNotFound, "", "")
		}
	}))
	for as, op := range map[archive.Representation]Operation{archive.Original: OpOriginal, archive.PDF: OpPDF} {
		if _, err := c.ContentInfo(t.Context(), 5, as); err != nil {
			t.Fatal(err)
		}
		wantKind(t, readAll(as)(t.Context(), c), op, archive.KindNotFound)
		if got := c.Supports(op); got != SupportYes {
			t.Errorf("support of %s is %s", op, got)
		}
	}
}

func TestOperationsOfTheSpecificationAreAlwaysThere(t *testing.T) {
	requests := 0
	c := newService(t, standing(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		reply(w, http.StatusNotFound, "", "")
	}))
	for range 2 {
		wantKind(t, c.SetAutoExport(t.Context(), 4, true), OpAutoExportSet, archive.KindNotFound)
		_, err := c.Data(t.Context(), 4)
		wantKind(t, err, OpDocumentData, archive.KindNotFound)
	}
	if requests != 4 || c.Supports(OpDocumentData) != SupportUnknown {
		t.Errorf("%d requests, support %s", requests, c.Supports(OpDocumentData))
	}
}
