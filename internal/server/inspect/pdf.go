package inspect

import (
	"io"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// pdfPages returns the number of pages of a PDF, 1 when it cannot be told: the file is
// damaged or encrypted.
func pdfPages(r io.ReadSeeker) (pages int) {
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
