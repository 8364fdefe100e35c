package hostile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"
)

// documentContent answers the PDF rendition or, with original=true, the original.
// Range, If-Range and If-None-Match are those of RFC 9110 unless shaped otherwise.
func documentContent(st *store, c *call) answer {
	shape := c.cfg.Content
	d := st.documents[c.id]
	switch {
	case c.r.Method == http.MethodHead && shape.HeadStatus != 0:
		return c.refuse(shape.HeadStatus, "HEAD is not offered")
	case d == nil:
		return c.refuse(http.StatusNotFound, "there is no such document")
	case c.flag("original") && shape.OriginalStatus != 0:
		return c.refuse(shape.OriginalStatus, "the original is not offered")
	case c.flag("original") && d.OriginalStatus != 0:
		return c.refuse(d.OriginalStatus, "the original is broken")
	}
	content, kind := d.rendition(), "application/pdf"
	if c.flag("original") {
		content, kind = d.Content, "application/octet-stream"
	}
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", kind)
	if tag := entityTag(st, shape.ETag, content); tag != "" {
		rec.Header().Set("ETag", tag)
	}
	http.ServeContent(rec, c.ranged(), "", time.Time{}, bytes.NewReader(content))
	a := answer{status: rec.Code, header: rec.Header(), body: rec.Body.Bytes(), chunked: shape.Chunked}
	a.distort(shape.Range, content)
	if shape.Chunked {
		a.header.Del("Content-Length")
	}
	return a
}

// entityTag names a content in the given form, empty for none.
func entityTag(st *store, form ETagForm, content []byte) string {
	sum := sha256.Sum256(content)
	switch form {
	case ETagStrong:
		return fmt.Sprintf(`"%x"`, sum)
	case ETagWeak:
		return fmt.Sprintf(`W/"%x"`, sum[:8])
	case ETagChanging:
		st.tags++
		return fmt.Sprintf(`"%d"`, st.tags)
	}
	return ""
}

// ranged is the request as the configured handling of ranges sees it.
func (c *call) ranged() *http.Request {
	r := c.r.Clone(c.r.Context())
	switch c.cfg.Content.Range {
	case RangeIgnored:
		r.Header.Del("Range")
	case RangeBlind:
		r.Header.Del("If-Range")
	case RangeRefused:
		if r.Header.Get("Range") != "" {
			r.Header.Del("If-Range")
			r.Header.Set("Range", "bytes=9000000000000000000-")
		}
	}
	return r
}

// distort turns an honest part of content into what the form says.
func (a *answer) distort(form RangeForm, content []byte) {
	if form == RangeIgnored {
		a.header.Del("Accept-Ranges")
	}
	if a.status != http.StatusPartialContent {
		return
	}
	var first, last, total int64
	if _, err := fmt.Sscanf(a.header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total); err != nil {
		return // several ranges
	}
	switch form {
	case RangeShifted:
		first, last, total = first+1, last+1, total+1
	case RangeFromStart:
		first, a.body = 0, content[:last+1]
	case RangeWrongTotal:
		total += 100
	case RangeUnlabelled:
		a.header.Del("Content-Range")
		return
	}
	a.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, total))
}
