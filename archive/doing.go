package archive

import "cmp"

// doing is the operations of the specification in plain words.
var doing = map[string]string{
	"archivestructure":                "list the folders",
	"inboxes":                         "list the inboxes",
	"document/list":                   "list documents",
	"search":                          "search the archive",
	"file-upload":                     "send the file",
	"folder/create":                   "make the folder",
	"document/original":               "read the original",
	"document/original/info":          "ask how long the original is",
	"document/pdf":                    "read the PDF",
	"document/pdf/info":               "ask how long the PDF is",
	"document/data":                   "read the data of the document",
	"document/data/info":              "ask how long the data of the document are",
	"document/ocr-result":             "read the recognised text",
	"page/preview":                    "read the picture of a page",
	"document/metadata":               "read the metadata",
	"document/metadata/set":           "change the metadata",
	"document/keywords/set":           "change the keywords",
	"document/auto_export_status/set": "set the auto-export status",
	"document/rename":                 "rename the document",
	"document/replace":                "replace the document",
	"document/archive":                "archive the document",
	"document/delete":                 "delete the document",
}

// Doing returns an operation in plain words, for messages: "list the folders". Without such words
// it returns op.
func Doing(op string) string { return cmp.Or(doing[op], op) }
