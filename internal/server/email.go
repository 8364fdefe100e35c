package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/mail"
)

// attachments receives the attachments of an e-mail; package mail says what counts as one. It is
// all of them or none.
func (h *uploadHandlers) attachments(ctx context.Context, who party, file receipt) (received []receipt, err error) {
	message := io.NewSectionReader(file, 0, file.Size())
	_, err = mail.Read(message, func(a mail.Attachment, content io.Reader) error {
		attachment, err := h.receive(ctx, who, content, attachmentName(a, len(received)+1), a.ContentType)
		if err == nil {
			received = append(received, attachment)
		}
		return err
	})
	if err == nil {
		return received, nil
	}
	h.discard(received...)
	switch {
	case errors.Is(err, mail.ErrTooMuch):
		err = fieldErrors{{name: fieldEmailOrder, err: refuse(archive.KindTooLarge, "%s", archive.Printable(err.Error()))}}
	case errors.Is(err, mail.ErrBroken):
		err = invalid(fieldEmailOrder, "%s", archive.Printable(err.Error()))
	}
	return nil, err
}

// attachmentName is the name that the sender gave, without directories, else one made of its
// number.
func attachmentName(a mail.Attachment, n int) string {
	name := a.Name[strings.LastIndexAny(a.Name, `/\`)+1:]
	if documentNameFault(name) == "" {
		return name
	}
	extension := ".bin"
	if known := mimetype.Lookup(a.ContentType); known != nil && known.Extension() != "" {
		extension = known.Extension()
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
