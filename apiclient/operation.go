package apiclient

// Operation names an operation of the service as errors, logs and statistics do.
type Operation string

// The operations of the specification.
const (
	OpStructure     Operation = "archivestructure"
	OpDocumentList  Operation = "document/list"
	OpFileUpload    Operation = "file-upload"
	OpFolderCreate  Operation = "folder/create"
	OpInboxes       Operation = "inboxes"
	OpArchive       Operation = "document/archive"
	OpAutoExportSet Operation = "document/auto_export_status/set"
	OpDocumentData  Operation = "document/data"
)

// The operations that a deployment may lack. Original and PDF are one route, but a deployment may
// have only one of them, so they are two operations; so are their HEAD requests.
const (
	OpOriginal     Operation = "document/original"
	OpPDF          Operation = "document/pdf"
	OpOriginalInfo Operation = "document/original/info"
	OpPDFInfo      Operation = "document/pdf/info"
	OpText         Operation = "document/ocr-result"
	OpPreview      Operation = "page/preview"
	OpSearch       Operation = "search"
	OpMetadata     Operation = "document/metadata"
	OpMetadataSet  Operation = "document/metadata/set"
	OpKeywordsSet  Operation = "document/keywords/set"
	OpRename       Operation = "document/rename"
	OpReplace      Operation = "document/replace"
	OpDelete       Operation = "document/delete"
)

// optional reports whether a deployment may lack op.
func (op Operation) optional() bool {
	switch op {
	case OpOriginal, OpPDF, OpOriginalInfo, OpPDFInfo, OpText, OpPreview, OpSearch, OpMetadata, OpMetadataSet,
		OpKeywordsSet, OpRename, OpReplace, OpDelete:
		return true
	}
	return false
}

// perDocument reports whether a single document may lack the content that op returns: it can be
// lost, or was never rendered.
func (op Operation) perDocument() bool {
	switch op {
	case OpOriginal, OpPDF, OpOriginalInfo, OpPDFInfo:
		return true
	}
	return false
}

// isContent reports whether op returns a content, which may have any length.
func (op Operation) isContent() bool { return op.perDocument() || op.rare() }

// ofContent reports whether the service needs its content storage to answer op.
func (op Operation) ofContent() bool { return op.perDocument() || op == OpPreview }

// rare reports whether so many documents lack the result of op that a 404 says nothing about the
// deployment.
func (op Operation) rare() bool { return op == OpText || op == OpPreview }

// aboutContent reports whether op transfers a content or its length.
func (op Operation) aboutContent() bool {
	switch op {
	case OpOriginal, OpPDF, OpOriginalInfo, OpPDFInfo, OpText, OpPreview, OpDocumentData, OpFileUpload, OpReplace:
		return true
	}
	return false
}
