package fs

import (
	"context"
	"errors"
	"mime"

	"github.com/gabriel-vasile/mimetype"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// order lists the representations to try for a document's bytes, best first.
func (f *FileSystem) order() []archive.Representation {
	switch f.opts.Mode {
	case ContentOriginal:
		return []archive.Representation{archive.Original}
	case ContentPDF:
		return []archive.Representation{archive.PDF}
	case ContentData:
		return []archive.Representation{archive.Data}
	case ContentAuto:
	}
	all := []archive.Representation{archive.Original, archive.PDF, archive.Data}
	if known := archive.Representation(f.rep.Load()); known != 0 { //nolint:gosec // stored below
		return all[known-archive.Original:]
	}
	return all
}

// representation is what stands for a document: under ContentAuto a file that was put in
// here reads as it was uploaded while it is cached.
func (f *FileSystem) representation(doc archive.ID) archive.Representation {
	best := f.order()[0]
	if f.opts.Mode == ContentAuto && best != archive.Original {
		if _, ok := f.content.Lookup(cache.Key{Document: doc, Representation: archive.Original}); ok {
			return archive.Original
		}
	}
	return best
}

// chosen remembers the representation that ContentAuto came to.
func (f *FileSystem) chosen(rep archive.Representation) {
	if f.opts.Mode != ContentAuto || f.rep.Swap(uint32(rep)) == uint32(rep) {
		return
	}
	f.log.Infof("documents are read as %s", rep)
	if f.readAs != nil {
		f.readAs.Save(struct{}{}, rep, f.now())
	}
}

// settled reports whether it is known what stands for documents, and so whose length the
// listed one is.
func (f *FileSystem) settled() bool { return f.opts.Mode != ContentAuto || f.rep.Load() != 0 }

// chooseRepresentation finds out what the service has, by the first document that is
// listed, before documents are named and measured. What cannot be found out now is left
// open: names then get .pdf, and lengths are estimated. Callers that come meanwhile wait
// for the one that asks.
func (f *FileSystem) chooseRepresentation(ctx context.Context, docs []archive.Document) {
	if f.settled() || len(docs) == 0 {
		return
	}
	found := f.probing.DoChan("", func() (any, error) {
		f.work.begin()
		defer f.work.end()
		if !f.settled() {
			f.probe(context.WithoutCancel(ctx), docs[0].ID)
		}
		return struct{}{}, nil
	})
	select {
	case <-found:
	case <-ctx.Done():
	}
}

// probe asks for the head of a document in each representation until one is there.
func (f *FileSystem) probe(ctx context.Context, doc archive.ID) {
	for _, rep := range f.order() {
		if rep == archive.Data {
			f.chosen(rep) // one of the eight operations
			return
		}
		_, err := f.archive.ContentInfo(ctx, doc, rep)
		if archive.KindOf(err) == archive.KindUnsupported {
			err = f.touchContent(ctx, doc, rep)
		}
		switch {
		case err == nil:
			f.chosen(rep)
			return
		case archive.KindOf(err) != archive.KindUnsupported:
			f.log.Debugf("find out what the service has: %v", err)
			if archive.Away(err) {
				f.chooseAsBefore()
			}
			return
		}
	}
}

// touchContent asks for content and throws the answer away, for services that refuse HEAD.
func (f *FileSystem) touchContent(ctx context.Context, doc archive.ID, rep archive.Representation) error {
	c, err := f.archive.Content(ctx, archive.ContentRequest{Document: doc, Representation: rep})
	if err != nil {
		return err
	}
	return c.Body.Close()
}

// addedExtension is the extension that a document without one is shown with: that of what
// its file holds.
func (f *FileSystem) addedExtension(doc *archive.Document) string {
	switch f.order()[0] {
	case archive.PDF:
		return ".pdf"
	case archive.Data:
		return ".json"
	case archive.Original:
	}
	if doc.ContentType == "" {
		return ".pdf"
	}
	return extensionOf(doc.ContentType)
}

// extensionOf is the extension that files of a media type have, the same on every machine;
// empty when none is known.
func extensionOf(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	switch t {
	case "application/pdf":
		return ".pdf"
	case "application/json":
		return ".json"
	case "application/octet-stream":
		return ""
	case "text/plain":
		return ".txt"
	case "text/html":
		return ".html"
	case "image/jpeg":
		return ".jpg"
	case "image/tiff":
		return ".tif"
	case "message/rfc822":
		return ".eml"
	case "application/xml", "text/xml":
		return ".xml"
	}
	if known := mimetype.Lookup(t); known != nil {
		return known.Extension()
	}
	return ""
}
