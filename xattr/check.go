package xattr

import "fmt"

// Check returns an error that wraps ErrValue or ErrTooBig when v is no value for the
// attribute, which is one that can be set.
func (a Attr) Check(v []byte) error {
	var err error
	switch a.Kind {
	case KindAutoExport, KindForceNewDocument, KindUploadForceNewDocument:
		_, err = ParseFlag(v)
	case KindRetry:
		if string(v) != RetryIncomplete {
			_, err = ParseBool(v)
		}
	case KindKeywords, KindDocumentTypes, KindUploadKeywords, KindUploadDocumentTypes:
		_, err = ParseKeywords(v)
	case KindEmailImportOrder, KindUploadEmailImportOrder:
		_, err = ParseEmailImportOrder(v)
	default:
		_, err = ParseText(v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.rule().name, err)
	}
	return nil
}
