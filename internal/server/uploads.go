package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/mail"
	"github.com/archivefs/archivefs/internal/server/params"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
	"github.com/archivefs/archivefs/internal/whole"
)

// uploadHandlers add contents, and replace and delete those of inbox documents.
type uploadHandlers struct {
	*intake
	readers sync.Pool // of *bufio.Reader, of formAhead bytes
}

func newUploadHandlers(in *intake) *uploadHandlers {
	return &uploadHandlers{intake: in, readers: sync.Pool{New: func() any { return bufio.NewReaderSize(nil, formAhead) }}}
}

func (h *uploadHandlers) routes() []route {
	return []route{
		{http.MethodPost, "/file-upload", h.fileUpload, upload},
		{http.MethodPost, "/document/{id}/replace", ofID(h.documentReplace), further | upload},
		{http.MethodPost, "/document/{id}/delete", ofID(h.documentDelete), further},
	}
}

// fileUpload answers POST /file-upload (specification, endpoint 3): the file becomes a document in a folder, or in an
// inbox if the target lies in one or none is given. The answer is the document's id as text.
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

// as makes the document of a content that was uploaded with file; an attachment has a name of its own.
func (r receipt) as(common store.Document, file receipt) store.Document {
	d := r.describe(common)
	if r.Staged != file.Staged {
		d.Name, d.Source = r.name, file.Digest()
	}
	if r.note != "" {
		d.Notes = []archive.Note{{Text: r.note, Date: d.Created.Format(time.DateTime), Creator: d.Creator}}
	}
	return d
}

// document reads the fields that describe the new document. Its name defaults to the file's, which base64 data lacks.
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
// content, and the keywords of the query if there are any.
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
	err = h.vault.keep(ctx, []blob.Staged{u.file.Staged}, func(in store.Scope) error {
		old, err = r.catalog.In(in).ReplaceContent(ctx, id, content)
		return err
	})
	if err == nil {
		h.vault.forget(ctx, old)
	}
	return w.done("id", err)
}

// documentDelete answers POST /document/{id}/delete: inbox documents only.
func (h *uploadHandlers) documentDelete(w *response, r *request, id archive.ID) error {
	ctx := r.detached()
	digest, err := r.catalog.DeleteDocument(ctx, id)
	if err == nil {
		h.vault.forget(ctx, digest)
	}
	return w.done("id", err)
}

// attachments receives the attachments of an e-mail, all or none; package mail says what counts as one. What
// is missing of one is said in a note on it, and in the log.
func (h *uploadHandlers) attachments(ctx context.Context, who turns.Party, file receipt) (received []receipt, err error) {
	content := io.NewSectionReader(file, 0, file.Size())
	message, err := mail.Read(content, func(a mail.Attachment, content io.Reader) error {
		attachment, err := h.receive(ctx, who, content, a.Name, a.ContentType)
		if err == nil {
			if attachment.name == "" {
				attachment.name = fmt.Sprintf("attachment %d%s", len(received)+1, extension(attachment.ContentType, a.ContentType))
			}
			received = append(received, attachment)
		}
		return err
	})
	for i := range received {
		if slices.Contains(message.Damaged, i) || message.Ended && i == len(received)-1 && whole.Check(received[i]) != nil {
			received[i].note = "The e-mail has only a part of this attachment, or it is damaged."
			h.vault.log.WithField("content", file.Digest()).WithField("attachment", i+1).Warn("an attachment of an e-mail is damaged; it was imported as far as it can be read")
		}
	}
	if err == nil {
		return received, nil
	}
	h.discard(received...)
	if errors.Is(err, mail.ErrTooMuch) {
		err = refusal.Fields{{Name: fieldEmailOrder, Err: refusal.New(archive.KindTooLarge, "%s", archive.Printable(err.Error()))}}
	}
	return nil, err
}

// extension is the file extension of what an attachment is, else of what its sender says.
func extension(is, said string) string {
	if strings.HasPrefix(is, "text/plain") {
		is, said = said, is
	}
	for _, one := range []string{is, said} {
		if known := mimetype.Lookup(one); known != nil && known.Extension() != "" {
			return known.Extension()
		}
	}
	return ".bin"
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

// receipt is a content that was received and inspected, and is not yet kept.
type receipt struct {
	blob.Staged
	name string // of the file it came as
	note string // what is missing of it
	inspect.Result
}

// intake takes contents into the archive.
type intake struct {
	vault    *vault
	workers  *workers // that count the pages of PDFs
	activity *activity
	most     int64 // bytes of a content
}

// receive stages a content and inspects it. The name and content type from the client help to tell kinds of text apart.
func (in *intake) receive(ctx context.Context, who turns.Party, content io.Reader, name, contentType string) (receipt, error) {
	staged, err := in.vault.Stage(ctx, content)
	if err != nil {
		return receipt{}, err
	}
	result := inspect.Content(staged, staged.Size(), inspect.Hint{Name: name, ContentType: contentType})
	if result.Uncounted {
		result.Pages = in.countPages(ctx, who, staged)
	}
	return receipt{Staged: staged, name: name, Result: result}, nil
}

const (
	// countTime is how long an upload waits for the pages of a PDF to be counted.
	countTime = 10 * time.Second
	// maxCounted is the largest PDF whose pages are counted by poppler, in bytes.
	maxCounted = 64 << 20
)

// countPages has poppler count the pages of a PDF. It repairs damaged ones, and reads encrypted ones that
// need no password. The result is 1 if it fails.
func (in *intake) countPages(ctx context.Context, who turns.Party, staged blob.Staged) int {
	if staged.Size() > maxCounted {
		return 1
	}
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	pages := 1
	if err := in.workers.do(ctx, who, func() (err error) {
		pages, err = poppler.Pages(ctx, io.NewSectionReader(staged, 0, staged.Size()))
		return err
	}); err != nil {
		return 1
	}
	return min(pages, inspect.MaxPages)
}

// describe fills in the fields of a document that follow from its content.
func (r receipt) describe(d store.Document) store.Document {
	d.Digest, d.Size, d.ContentType, d.Pages = r.Digest(), r.Size(), r.ContentType, r.Pages
	return d
}

// discard drops contents unless they were kept.
func (in *intake) discard(received ...receipt) {
	for _, r := range received {
		in.vault.leftover(r.Discard())
	}
}

// keep makes contents durable and then adds their documents in one transaction.
func (in *intake) keep(ctx context.Context, c catalog.Catalog, received []receipt, documents []store.Document, reuse bool) (ids []archive.ID, err error) {
	defer in.activity.change()
	defer in.activity.begin()()
	staged := make([]blob.Staged, 0, len(received))
	for _, r := range received {
		staged = append(staged, r.Staged)
	}
	err = in.vault.keep(ctx, staged, func(one store.Scope) error {
		ids, err = c.In(one).AddDocuments(ctx, documents, reuse)
		return err
	})
	return ids, err
}

// The form fields that carry a file.
const (
	fieldData   = "upload-data"
	fieldBase64 = "upload-data-base64"
)

// fieldCost is what a field counts in addition to its name and value, in bytes. It limits their number
// to a few thousand.
const fieldCost = 256

// formAhead is how many bytes of a form are read from the connection at a time: package mime/multipart
// would read 4 KiB.
const formAhead = 256 << 10

// submission is a multipart form: a file, staged as it arrives, and other fields.
type submission struct {
	params.Params
	file     receipt
	received bool
	body     *ending
	most     int64 // bytes of the file
}

// bad returns the error for a form that cannot be read: it is too large, truncated, or as err says.
func (u *submission) bad(err error, what string) error {
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return tooLongFor(u.most)
	}
	if u.body.cutOff() && archive.KindOf(err) != archive.KindTimeout {
		return refusal.New(archive.KindInvalid, "%s: the body ends without the form's closing delimiter", what)
	}
	return badBody(err, what)
}

// tooLongFor refuses a form that is too long even with the largest allowed file.
func tooLongFor(most int64) error {
	return refusal.New(archive.KindTooLarge, "the body is too large for a file of at most %s and its fields", limits.Amount(most))
}

// submission reads a multipart form to its end, with its fields in any order. A truncated body is an
// error and leaves nothing. The caller discards the file.
func (h *uploadHandlers) submission(w *response, r *request) (_ *submission, err error) {
	boundary, err := wantBody(r, "multipart/form-data")
	if err != nil {
		return nil, err
	}
	if boundary["boundary"] == "" {
		return nil, refusal.New(archive.KindInvalid, "the form cannot be read: its Content-Type has no boundary")
	}
	limit := h.most + h.most/3 + 4*maxForm // base64, fields
	if fits(r, limit) != nil {
		return nil, tooLongFor(h.most)
	}
	buffer := h.readers.Get().(*bufio.Reader) // of New
	defer h.readers.Put(buffer)
	buffer.Reset(http.MaxBytesReader(w, r.Body, limit))
	defer buffer.Reset(nil)
	body := newEnding(struct {
		io.Reader
		io.Closer
	}{buffer, r.Body}, boundary["boundary"])
	r.Body = body
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, badBody(err, "the form cannot be read")
	}
	u := &submission{Params: params.Params{Values: url.Values{}}, body: body, most: h.most}
	w.form = u.Values
	defer func() {
		if err != nil && u.received {
			h.discard(u.file)
		}
	}()
	left := int64(maxForm)
	for {
		part, err := parts.NextPart()
		if err == io.EOF { // not errors.Is: a wrapped EOF means that the end of the form is missing
			break
		}
		if err != nil {
			return nil, u.bad(err, "the form cannot be read")
		}
		if err := h.part(r, u, part, &left); err != nil {
			return nil, err
		}
	}
	switch {
	case !body.closed():
		return nil, refusal.New(archive.KindInvalid, "the form is cut off: its closing delimiter is missing")
	case !u.received:
		return nil, refusal.Invalid(fieldData, "required")
	}
	return u, nil
}

// part reads one field of the form; left is how many bytes of text the form may still have.
func (h *uploadHandlers) part(r *request, u *submission, part *multipart.Part, left *int64) error {
	name := part.FormName()
	if name == fieldData || name == fieldBase64 {
		if u.received {
			return refusal.Invalid(name, "there is more than one file")
		}
		return h.filePart(r, u, part, name == fieldBase64)
	}
	if part.FileName() != "" {
		return refusal.Invalid(cmp.Or(shortened(archive.Printable(name)), fieldData), "a file belongs in %s, and this field takes none", fieldData)
	}
	value, err := io.ReadAll(io.LimitReader(part, *left+1))
	if err != nil {
		return u.bad(err, "the form cannot be read")
	}
	if *left -= int64(len(name) + len(value) + fieldCost); *left < 0 {
		return refusal.Fields{{Name: name, Err: refusal.New(archive.KindTooLarge, "the fields are larger than %s", limits.Amount(maxForm))}}
	}
	if name != "" {
		u.Values.Add(name, string(value))
	}
	return nil
}

// filePart stages the file.
func (h *uploadHandlers) filePart(r *request, u *submission, part *multipart.Part, encoded bool) error {
	content := &bounded{Reader: part, left: h.most, limit: h.most}
	name := fileName(part.FileName())
	if encoded {
		content.Reader, name = base64.NewDecoder(base64.StdEncoding, part), ""
	}
	file, err := h.receive(r.Context(), r.who.party(), content, name, part.Header.Get("Content-Type"))
	switch {
	case err == nil:
		u.file, u.received = file, true
		return nil
	case archive.KindOf(err) == archive.KindTooLarge:
		return refusal.Blame(part.FormName(), err)
	case content.failed != nil && encoded && !u.body.cutOff():
		const what = "not base64 as in RFC 4648, section 4"
		if content.failed == io.ErrUnexpectedEOF { //nolint:errorlint // of the decoder itself, at its end
			return refusal.Blame(part.FormName(), refusal.New(archive.KindInvalid, what+": it has no whole number of groups of four letters"))
		}
		return refusal.Blame(part.FormName(), u.bad(content.failed, what))
	case content.failed != nil:
		return refusal.Blame(part.FormName(), u.bad(content.failed, "the file cannot be read"))
	}
	return err
}

// bounded reads at most limit bytes; more is KindTooLarge.
type bounded struct {
	io.Reader
	left, limit int64
	failed      error // of the sender, not of the local disk
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, refusal.New(archive.KindTooLarge, "the file is larger than %s", limits.Amount(b.limit))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return n, err
}

// readAhead is more bytes than package mime/multipart reads beyond the end of a form.
const readAhead = 8 << 10

// ending remembers the last bytes that were read of a multipart body. Package mime/multipart takes a body that is cut
// off right after a boundary for complete, so the closing delimiter is checked here (RFC 2046, 5.1.1).
type ending struct {
	io.ReadCloser
	delimiter []byte
	last      []byte
	ended     bool
}

func newEnding(body io.ReadCloser, boundary string) *ending {
	e := &ending{ReadCloser: body, delimiter: []byte("--" + boundary + "--")}
	e.last = make([]byte, 0, 2*(readAhead+len(e.delimiter)))
	return e
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	e.ended = e.ended || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
	keep := readAhead + len(e.delimiter)
	if e.last = append(e.last, p[max(0, n-keep):n]...); len(e.last) > keep {
		e.last = append(e.last[:0], e.last[len(e.last)-keep:]...)
	}
	return n, err
}

// cutOff reports whether the body has ended without the closing delimiter.
func (e *ending) cutOff() bool { return e.ended && !e.closed() }

// closed reports whether the closing delimiter was read.
func (e *ending) closed() bool { return bytes.Contains(e.last, e.delimiter) }

// fileName is the file name without the directories of a Windows path. In other names a backslash stays.
func fileName(sent string) string {
	if strings.HasPrefix(sent, `\`) || windowsDrive.MatchString(sent) {
		return sent[strings.LastIndexByte(sent, '\\')+1:]
	}
	return sent
}

var windowsDrive = regexp.MustCompile(`^[A-Za-z]:\\`)
