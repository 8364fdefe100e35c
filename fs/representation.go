package fs

import (
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
	if known := f.used(); known != 0 {
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

// chosen remembers the representation that ContentAuto came to. In place of a better one it
// takes the word of two documents.
func (f *FileSystem) chosen(rep archive.Representation) {
	before := f.used()
	if f.opts.Mode != ContentAuto || rep == before || before != 0 && rep > before && !f.evidence.sure(rep) {
		return
	}
	if !f.rep.CompareAndSwap(uint32(before), uint32(rep)) {
		return // another caller was quicker
	}
	f.log.Infof("documents are read as %s", rep)
	if f.readAs != nil {
		f.readAs.Save(struct{}{}, rep, f.now())
	}
}

// settled reports whether it is known what stands for documents, and so whose length the
// listed one is.
func (f *FileSystem) settled() bool { return f.opts.Mode != ContentAuto || f.rep.Load() != 0 }

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
