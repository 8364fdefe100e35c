// Package render makes PDFs of documents that are none: images get a page each, texts
// and e-mails are set in a fixed-width font, and of anything else a cover page says what
// it is. Rendering never fails because of the content: what cannot be read gets the
// cover page. The same source does
// not always give the same bytes, so that who promises an entity tag keeps the PDF.
package render
