package inspect

import (
	"bytes"
	"errors"
	"io"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// pdfPages returns the number of pages of a PDF, 1 when it cannot be told: the file is
// damaged or encrypted.
func pdfPages(r *io.SectionReader) (pages int) {
	if !hasTrailer(r) {
		return 1
	}
	// The parser is fed with what strangers upload; should one of them find a way to
	// make it panic, that must not cost the upload.
	defer func() {
		if recover() != nil {
			pages = 1
		}
	}()
	ctx, err := api.ReadContext(r, &model.Configuration{
		Reader15:       true,
		ValidationMode: model.ValidationRelaxed,
		Offline:        true,
		Limits:         model.DefaultResourceLimits(),
	})
	if err != nil {
		return 1
	}
	if err := ctx.EnsurePageCount(); err != nil {
		return 1
	}
	return max(1, ctx.PageCount)
}

// hasTrailer reports whether a PDF says near its end where its objects are (ISO 32000-1,
// 7.5.5). One that does not is damaged, and searching it for objects takes long.
func hasTrailer(r *io.SectionReader) bool {
	const near = 4 << 10
	tail := make([]byte, min(near, r.Size()))
	n, err := r.ReadAt(tail, r.Size()-int64(len(tail)))
	return (err == nil || errors.Is(err, io.EOF)) && bytes.Contains(tail[:n], []byte("startxref"))
}
