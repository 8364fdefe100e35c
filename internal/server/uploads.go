package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/mail"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

// uploadHandlers take contents, and give those of an inbox away again.
type uploadHandlers struct {
	*intake
	readers sync.Pool // of *bufio.Reader, of formAhead bytes
}

func newUploadHandlers(in *intake) *uploadHandlers {
	return &uploadHandlers{intake: in, readers: sync.Pool{New: func() any { return bufio.NewReaderSize(nil, formAhead) }}}
}

// fileUpload answers POST /file-upload (specification, endpoint 3): the file becomes a
// document in a folder, or waits in an inbox when the target lies in one or none is named.
// The answer is the document's id as text.
func (h *uploadHandlers) fileUpload(w *response, r *request) error {
	u, err := h.submission(w, r)
	if err != nil {
		return err
	}
	defer h.discard(u.file)
	to, order, force := targetOf(&u.Params), u.emailOrder(), u.Flag("force-new-document")
	common := u.document()
	reuse := common.ExternalID != "" && !force
	if err := u.Err(); err != nil {
		return err
	}
	ctx := r.detached()
	folder, err := to.destination(ctx, r.catalog, r.who)
	if err != nil {
		return err
	}
	common.Folder, common.Creator, common.Created = folder.ID, r.who.user, time.Now()
	if !folder.Inbox {
		common.Archived = common.Created
	}
	id, err := h.importFile(ctx, r, u.file, common, order, reuse)
	if err != nil {
		return err
	}
	w.text(strconv.FormatInt(int64(id), 10))
	return nil
}

// importFile adds the documents that a file becomes and returns the first one's id.
func (h *uploadHandlers) importFile(ctx context.Context, r *request, file receipt, common store.Document, order archive.EmailImportOrder, reuse bool) (archive.ID, error) {
	received := []receipt{file}
	if file.ContentType == inspect.Mail && order != "" && order != archive.EmailOnly {
		attachments, err := h.attachments(ctx, r.who.party(), file)
		if err != nil {
			return 0, err
		}
		defer h.discard(attachments...)
		received = arrange(file, attachments, order)
	}
	if len(received) == 0 {
		return 0, refusal.Invalid(fieldEmailOrder, "the e-mail has no attachments")
	}
	documents := make([]store.Document, 0, len(received))
	for _, one := range received {
		documents = append(documents, one.as(common, file))
	}
	ids, err := h.keep(ctx, r.catalog, received, documents, reuse)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// as makes the document of a content that came with file; an attachment has a name of
// its own.
func (r receipt) as(common store.Document, file receipt) store.Document {
	d := r.describe(common)
	if r.Staged != file.Staged {
		d.Name, d.Source = r.name, file.Digest()
	}
	return d
}

// document reads the fields that describe the new document. Its name defaults to the
// file's, which base64 data lacks.
func (u *submission) document() store.Document {
	return store.Document{
		Name:       u.DocumentName(fieldName, u.file.name),
		Keywords:   u.List("keywords"),
		Types:      u.List("document-types"),
		ExternalID: u.Entry("external-id"),
		Metadata:   u.Pairs("external-metadatas"),
	}
}

// fieldEmailOrder says how an e-mail becomes documents.
const fieldEmailOrder = "email-import-order"

func (u *submission) emailOrder() archive.EmailImportOrder {
	order := archive.EmailImportOrder(u.Text(fieldEmailOrder))
	if !order.Valid() {
		u.Refuse(fieldEmailOrder, "none of EMAIL_THEN_ATTACHMENTS, ATTACHMENTS_THEN_EMAIL, EMAIL_ONLY, ATTACHMENTS_ONLY")
	}
	return order
}

// documentReplace answers POST /document/{id}/replace: an inbox document gets new
// content, and the keywords of the query when there are some.
func (h *uploadHandlers) documentReplace(w *response, r *request, id archive.ID) error {
	p := query(r)
	keywords := p.List("keywords")
	if err := p.Err(); err != nil {
		return err
	}
	u, err := h.submission(w, r)
	if err != nil {
		return err
	}
	defer h.discard(u.file)
	ctx := r.detached()
	content := store.Content{
		Digest: u.file.Digest(), Size: u.file.Size(), ContentType: u.file.ContentType, Pages: u.file.Pages,
		Keywords: keywords,
	}
	var old string
	err = h.vault.keep(ctx, u.file.staged(), func(ctx context.Context) error {
		old, err = r.catalog.ReplaceContent(ctx, id, content)
		return err
	})
	if err != nil {
		return refusal.Blame("id", err)
	}
	h.vault.forget(ctx, old)
	w.empty()
	return nil
}

// documentDelete answers POST /document/{id}/delete: inbox documents only.
func (h *uploadHandlers) documentDelete(w *response, r *request, id archive.ID) error {
	ctx := r.detached()
	digest, err := r.catalog.DeleteDocument(ctx, id)
	if err != nil {
		return refusal.Blame("id", err)
	}
	h.vault.forget(ctx, digest)
	w.empty()
	return nil
}

// attachments receives the attachments of an e-mail; package mail says what counts as one. It is
// all of them or none.
func (h *uploadHandlers) attachments(ctx context.Context, who turns.Party, file receipt) (received []receipt, err error) {
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
		err = refusal.Fields{{Name: fieldEmailOrder, Err: refusal.New(archive.KindTooLarge, "%s", archive.Printable(err.Error()))}}
	case errors.Is(err, mail.ErrBroken):
		err = refusal.Invalid(fieldEmailOrder, "%s", archive.Printable(err.Error()))
	}
	return nil, err
}

// attachmentName is the name that the sender gave, without directories, else one made of its
// number.
func attachmentName(a mail.Attachment, n int) string {
	name := a.Name[strings.LastIndexAny(a.Name, `/\`)+1:]
	if limits.DocumentName(name) == "" {
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
