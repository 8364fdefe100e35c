package hostile

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

// splitMail makes documents of an uploaded message: itself, and each part that bears
// a file name, in the import order asked for (message first without one). A body that
// is no multipart message stays one document.
func splitMail(d Document, order string) []Document {
	message := []Document{d}
	var attached []Document
	for _, a := range attachments(d.Content) {
		one := d.clone()
		one.Name, one.Content = a.name, a.content
		attached = append(attached, one)
	}
	switch {
	case len(attached) == 0, order == "EMAIL_ONLY":
		return message
	case order == "ATTACHMENTS_ONLY":
		return attached
	case order == "ATTACHMENTS_THEN_EMAIL":
		return append(attached, message...)
	}
	return append(message, attached...)
}

type attachment struct {
	name    string
	content []byte
}

func attachments(raw []byte) []attachment {
	msg, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	_, attrs, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil || attrs["boundary"] == "" {
		return nil
	}
	var found []attachment
	parts := multipart.NewReader(msg.Body, attrs["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			return found
		}
		var body io.Reader = part
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			body = base64.NewDecoder(base64.StdEncoding, part)
		}
		content, err := io.ReadAll(body)
		if err == nil && part.FileName() != "" {
			found = append(found, attachment{part.FileName(), content})
		}
	}
}
