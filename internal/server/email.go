package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"path"

	"github.com/jhillyerd/enmime/v2"

	"github.com/archivefs/archivefs/archive"
)

// maxMail is the largest e-mail that is taken apart, in bytes: it is parsed in memory.
const maxMail = 64 << 20

// attachments receives the attachments of an e-mail (RFC 2045, RFC 2183), those in line
// included unless the text shows them as pictures of its own.
func (s *Server) attachments(ctx context.Context, file receipt) (_ []receipt, err error) {
	if file.Size() > maxMail {
		return nil, fieldErrors{{name: fieldEmailOrder, err: refuse(archive.KindTooLarge, "e-mails over %d bytes are taken whole only", maxMail)}}
	}
	envelope, err := enmime.ReadEnvelope(io.NewSectionReader(file, 0, file.Size()))
	if err != nil {
		return nil, invalid(fieldEmailOrder, "the e-mail cannot be read: %s", archive.Printable(err.Error()))
	}
	parts := envelope.Attachments
	for _, part := range envelope.Inlines {
		if part.ContentID == "" {
			parts = append(parts, part)
		}
	}
	received := make([]receipt, 0, len(parts))
	for i, part := range parts {
		attachment, err := s.receive(ctx, bytes.NewReader(part.Content), attachmentName(part, i+1), part.ContentType)
		if err != nil {
			s.discard(received...)
			return nil, err
		}
		received = append(received, attachment)
	}
	return received, nil
}

// attachmentName is the name that the sender gave, else one made of its number.
func attachmentName(part *enmime.Part, n int) string {
	name := path.Base(part.FileName)
	if part.FileName != "" && documentNameFault(name) == "" {
		return name
	}
	extension := ".bin"
	if known, err := mime.ExtensionsByType(part.ContentType); err == nil && len(known) > 0 {
		extension = known[0]
	}
	return fmt.Sprintf("attachment %d%s", n, extension)
}

// arrange orders the contents of an e-mail.
func arrange(mail receipt, attachments []receipt, order archive.EmailImportOrder) []receipt {
	switch order {
	case archive.EmailThenAttachments:
		return append([]receipt{mail}, attachments...)
	case archive.AttachmentsThenEmail:
		return append(append([]receipt{}, attachments...), mail)
	case archive.AttachmentsOnly:
		return attachments
	}
	return []receipt{mail}
}
