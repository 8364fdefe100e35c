package hostile

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// fileUpload is endpoint 3. A target in an inbox makes an inbox document, any other
// an archived one.
func fileUpload(st *store, c *call) answer {
	target, refused := findTarget(st, c)
	if target == nil {
		return refused
	}
	metadata, ok := parseMetadata(c.text("external-metadatas"))
	if !ok {
		return c.refuse(http.StatusBadRequest, "external-metadatas is malformed")
	}
	if old := st.withExternalID(c.text("external-id")); old != nil && !c.flag("force-new-document") {
		switch c.cfg.Upload.SameExternalID {
		case SameKeepsOld:
			return c.done(uploaded(c, old.ID))
		case SameConflicts:
			return c.refuse(http.StatusConflict, "a document of that external id exists")
		}
	}
	name := c.text("target-document-name")
	if name == "" {
		name = c.fileName
	}
	d := Document{
		Folder: target.ID, Name: name, Content: c.file, Created: c.now(),
		Keywords: splitWords(c.text("keywords")), Types: splitWords(c.text("document-types")),
		Metadata: metadata, ExternalID: c.text("external-id"), hidden: max(c.hide, c.cfg.Upload.VisibleAfter),
	}
	if !target.Inbox {
		d.Archived = d.Created
	}
	docs := []Document{d}
	if c.cfg.Upload.SplitMail && strings.HasSuffix(strings.ToLower(c.fileName), ".eml") {
		docs = splitMail(d, c.text("email-import-order"))
	}
	var first int64
	for i := range docs {
		if id := st.add(docs[i]).ID; i == 0 {
			first = id
		}
	}
	return c.done(uploaded(c, first))
}

// uploaded answers the id of a new document in the configured form.
func uploaded(c *call, id int64) answer {
	id -= c.cfg.LowIDs
	decimal := strconv.FormatInt(id, 10)
	switch c.cfg.Upload.Answer {
	case UploadLine:
		return plain(http.StatusOK, decimal+"\r\n")
	case UploadNumber:
		return c.json(id)
	case UploadString:
		return c.json(decimal)
	case UploadObject:
		return c.json(object{"id": id + c.cfg.LowIDs})
	case UploadEmpty:
		return empty(http.StatusOK)
	case UploadOK:
		return plain(http.StatusOK, "OK")
	case UploadJob:
		return plain(http.StatusOK, strconv.FormatInt(id+1_000_000, 10))
	}
	return plain(http.StatusOK, decimal)
}

// findTarget finds the folder that a call names by id or by path. Without one it returns
// the refusal.
func findTarget(st *store, c *call) (*Folder, answer) {
	var found *Folder
	switch {
	case c.has("target-folder-id"):
		found = st.folder(c.number("target-folder-id"))
	case c.has("target-folder-path"):
		found = st.resolve(c.text("target-mandator-name"), c.text("target-folder-path"))
	default:
		return nil, c.refuse(http.StatusBadRequest, "either target-folder-id or target-folder-path is required")
	}
	if found == nil {
		return nil, c.refuse(http.StatusNotFound, "there is no such target folder")
	}
	return found, answer{}
}

// now is the wall-clock time in whole seconds, as the service's dates carry them.
func (c *call) now() time.Time { return c.cfg.Now().Truncate(time.Second) }
