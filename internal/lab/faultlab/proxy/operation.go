package proxy

import (
	"net/http"
	"strings"
)

// Operation is what a request asks for.
type Operation string

// The operations that faults tell apart.
const (
	Any       Operation = "any"
	Structure Operation = "structure"
	List      Operation = "list"
	Inboxes   Operation = "inboxes"
	Upload    Operation = "upload"
	Folder    Operation = "folder"
	Archive   Operation = "archive"
	Rename    Operation = "rename"
	Replace   Operation = "replace"
	Data      Operation = "data"
	Content   Operation = "content"
	other     Operation = "other"
)

// operationOf tells what a request asks for by the end of its path.
func operationOf(r *http.Request) Operation {
	for suffix, op := range map[string]Operation{
		"/archivestructure": Structure, "/document/list": List, "/inboxes": Inboxes, "/file-upload": Upload,
		"/folder/create": Folder, "/archive": Archive, "/rename": Rename, "/replace": Replace, "/data": Data, "/pdf": Content,
	} {
		if strings.HasSuffix(r.URL.Path, suffix) {
			return op
		}
	}
	return other
}
