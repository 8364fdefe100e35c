package apiclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/archivefs/archivefs/archive"
)

// OpDocumentList lists the documents of a folder.
var OpDocumentList = Operation{"document/list", "list documents", listing}

// Documents lists the documents of a folder by ascending id (specification, endpoint 2). Documents without an id are
// left out with a warning. The options' CreatedAfter is sent as a date in Config.Location.
func (c *Client) Documents(ctx context.Context, folder archive.ID, options archive.ListOptions) ([]archive.Document, error) {
	var documents []archive.Document
	err := c.EachDocument(ctx, folder, options, func() func(*archive.Document) {
		documents = nil
		return func(d *archive.Document) { documents = append(documents, *d) }
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(documents, func(a, b archive.Document) int { return cmp.Compare(a.ID, b.ID) })
	return documents, nil
}

// EachDocument is Documents for lists too long to hold in memory: the function that begin
// returns is called with each document as it arrives, in the service's order. begin is called for
// each repetition of the request, and the documents of earlier attempts are void.
func (c *Client) EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error {
	r := get(OpDocumentList, "/document/list", listQuery(folder, options, c.location)).requireID(folder)
	return c.service.stream(ctx, r, func(r *jsonReader) error {
		list := documentList{location: c.location, take: begin()}
		err := list.read(r)
		if err == nil {
			warnSkipped(c.log.WithField("folder", folder), OpDocumentList, "documents", list.skipped)
		}
		return err
	})
}

// listQuery returns the parameters of a document list. The specification spells excluded-matadata-keys so.
func listQuery(folder archive.ID, options archive.ListOptions, location *time.Location) url.Values {
	query := url.Values{"folder-id": {folder.String()}}
	if keys := EscapeList(options.IncludeMetadata); keys != "" {
		query.Set("included-metadata-keys", keys)
	}
	if keys := EscapeList(options.ExcludeMetadata); keys != "" {
		query.Set("excluded-matadata-keys", keys)
	}
	if options.WithAutoExport {
		query.Set("with-autoexport-status", "true")
	}
	if !options.CreatedAfter.IsZero() {
		query.Set("filter-date-created-after", options.CreatedAfter.In(location).Format(time.DateOnly))
	}
	if options.Recursive {
		query.Set("subfolders-recursive", "true")
	}
	return query
}

type documentWire struct {
	id, name, numPages, created, archived, folderID scalar
	keywords                                        words
	metadata                                        pairs
	// autoExport has three spellings; the first one with a value counts.
	autoExport                 [3]scalar
	contentLength, contentType scalar
}

func (w *documentWire) member(r *jsonReader, name []byte) error {
	switch string(name) {
	case "id":
		return r.scalar(&w.id)
	case "name":
		return r.scalar(&w.name)
	case "num-pages":
		return r.scalar(&w.numPages)
	case "creation-date":
		return r.scalar(&w.created)
	case "archiving-date":
		return r.scalar(&w.archived)
	case "folder-id":
		return r.scalar(&w.folderID)
	case "keywords":
		return r.words(&w.keywords)
	case "external-metadata":
		return r.pairs(&w.metadata)
	case "autoexport-status":
		return r.scalar(&w.autoExport[0])
	case "auto-export-status":
		return r.scalar(&w.autoExport[1])
	case "autoexportstatus":
		return r.scalar(&w.autoExport[2])
	case "content-length":
		return r.scalar(&w.contentLength)
	case "content-type":
		return r.scalar(&w.contentType)
	}
	return r.skip()
}

// document returns the document; false if it has no id.
func (w *documentWire) document(loc *time.Location) (archive.Document, bool) {
	d := archive.Document{
		ID:          w.id.id(),
		Name:        w.name.text,
		Pages:       w.numPages.count(),
		Created:     parseDate(w.created.text, loc),
		Archived:    parseDate(w.archived.text, loc),
		Folder:      w.folderID.id(),
		Keywords:    w.keywords,
		Metadata:    w.metadata,
		Size:        w.contentLength.size(),
		ContentType: w.contentType.text,
	}
	for _, status := range w.autoExport {
		if d.AutoExport == archive.FlagUnknown {
			d.AutoExport = status.flag()
		}
	}
	return d, d.ID != 0
}

var (
	errNoList      = errors.New("the answer is no list of documents")
	errNoDocuments = errors.New("no element of the list has the id of a document")
)

type documentList struct {
	location *time.Location
	take     func(*archive.Document)
	taken    int
	skipped  int
	shared   shared
	// wire and document are the current element. They are fields to be allocated once.
	wire     documentWire
	document archive.Document
}

// read reads an array of documents, or a single one. Null, and a list without a single usable
// document, are errors, because they must not look like an empty folder.
func (l *documentList) read(r *jsonReader) error {
	var err error
	switch r.kind() {
	case '[':
		err = r.elements(func() error { return l.element(r) })
	case '{':
		err = l.element(r)
	default:
		if err = r.skip(); err == nil {
			err = errNoList
		}
	}
	if err == nil && l.taken == 0 && l.skipped > 0 {
		err = errNoDocuments
	}
	return err
}

// element reads one element. One that is no object is skipped as if it had no id.
func (l *documentList) element(r *jsonReader) error {
	if r.kind() != '{' {
		l.skipped++
		return r.skip()
	}
	l.wire = documentWire{}
	if err := r.members(func(name []byte) error { return l.wire.member(r, name) }); err != nil {
		return err
	}
	var ok bool
	if l.document, ok = l.wire.document(l.location); ok {
		l.shared.document(&l.document)
		l.take(&l.document)
		l.taken++
	} else {
		l.skipped++
	}
	return nil
}

// maxShared bounds the texts that the documents of an answer share. Texts that differ in every
// document would fill the map for nothing.
const maxShared = 1024

// shared holds texts that the documents of an answer have in common, so that each is in memory once.
type shared map[string]string

// document replaces texts of d by shared ones.
func (s *shared) document(d *archive.Document) {
	d.ContentType = s.text(d.ContentType)
	for i := range d.Keywords {
		d.Keywords[i] = s.text(d.Keywords[i])
	}
	for i := range d.Metadata {
		d.Metadata[i].Key = s.text(d.Metadata[i].Key)
	}
}

func (s *shared) text(text string) string {
	if text == "" {
		return ""
	}
	if known, ok := (*s)[text]; ok {
		return known
	}
	if *s == nil {
		*s = shared{}
	}
	if len(*s) < maxShared {
		(*s)[text] = text
	}
	return text
}

// The operations on a document.
var (
	OpDocumentData  = Operation{"document/data", "read the data of the document", bulky}
	OpArchive       = Operation{"document/archive", "archive the document", 0}
	OpAutoExportSet = Operation{"document/auto_export_status/set", "set the auto-export status", 0}
	OpRename        = Operation{"document/rename", "rename the document", optional}
	OpDelete        = Operation{"document/delete", "delete the document", optional}
	OpMetadata      = Operation{"document/metadata", "read the metadata", optional}
	OpMetadataSet   = Operation{"document/metadata/set", "change the metadata", optional}
	OpKeywordsSet   = Operation{"document/keywords/set", "change the keywords", optional}
	OpUploadedWith  = Operation{"document/uploaded-with", "ask what else came of the upload", rare}
)

var errNoData = errors.New("the answer is no document")

// Data returns the extended document (specification, endpoint 8), of at most 64 MiB.
func (c *Client) Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error) {
	wire, text, err := c.service.data(ctx, doc)
	if err != nil {
		return archive.DocumentData{}, err
	}
	data := wire.data(c.location)
	data.ID, data.Raw = cmp.Or(data.ID, doc), text
	return data, nil
}

// data returns the extended document, decoded and as JSON.
func (s *service) data(ctx context.Context, doc archive.ID) (*dataWire, []byte, error) {
	var wire list[dataWire]
	text, err := s.decode(ctx, get(OpDocumentData, documentPath(doc, "data"), nil).about(doc), dataLimit, &wire)
	if err != nil {
		return nil, nil, err
	}
	if len(wire) != 1 || !wire[0].ID.set && !wire[0].Name.set {
		return nil, nil, &archive.Error{Op: OpDocumentData.doing, Kind: archive.KindProtocol, Err: errNoData}
	}
	return &wire[0], text, nil
}

type dataWire struct {
	ID             scalar             `json:"id"`
	Name           scalar             `json:"name"`
	NumPages       scalar             `json:"numPages"`
	Mandator       scalar             `json:"mandator"`
	FolderID       scalar             `json:"folderId"`
	FolderPath     scalar             `json:"folderPath"`
	CreationDate   scalar             `json:"creationDate"`
	CreatorID      scalar             `json:"creatorId"`
	CreatorName    scalar             `json:"creatorName"`
	Keywords       words              `json:"keywords"`
	Classification words              `json:"classification"`
	External       list[externalWire] `json:"external"`
	Workflows      list[workflowWire] `json:"workflows"`
	Pages          list[pageWire]     `json:"pages"`
	Text           scalar             `json:"textState"`
}

type externalWire struct {
	ExternalID scalar `json:"externalId"`
	Metadata   pairs  `json:"metadata"`
}

type workflowWire struct {
	Name         scalar `json:"name"`
	CurrentState scalar `json:"currentState"`
	StartDate    scalar `json:"startDate"`
	FinishDate   scalar `json:"finishDate"`
}

type pageWire struct {
	ID     scalar               `json:"id"`
	Notes  list[annotationWire] `json:"notes"`
	Stamps list[annotationWire] `json:"stamps"`
}

// annotationWire is a note or a stamp; a note has no title.
type annotationWire struct {
	Title       scalar `json:"title"`
	Text        scalar `json:"text"`
	Date        scalar `json:"date"`
	CreatorName scalar `json:"creatorName"`
}

// data returns the document without Raw.
func (w *dataWire) data(loc *time.Location) archive.DocumentData {
	d := archive.DocumentData{
		ID:         w.ID.id(),
		Name:       w.Name.text,
		NumPages:   w.NumPages.count(),
		Mandator:   w.Mandator.text,
		Folder:     w.FolderID.id(),
		FolderPath: w.FolderPath.text,
		Created:    parseDate(w.CreationDate.text, loc),
		Creator:    w.CreatorName.text,
		Keywords:   w.Keywords,
		Types:      w.Classification,
		Text:       w.Text.text,
	}
	d.CreatorID, _ = w.CreatorID.int64()
	if len(w.External) > 0 {
		d.ExternalID = w.External[0].ExternalID.text
		d.Metadata = w.External[0].Metadata
		slices.SortStableFunc(d.Metadata, func(a, b archive.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	}
	for _, flow := range w.Workflows {
		d.Workflows = append(d.Workflows, archive.Workflow{
			Name: flow.Name.text, State: flow.CurrentState.text, Started: flow.StartDate.text, Finished: flow.FinishDate.text,
		})
	}
	for i := range w.Pages {
		d.Pages = append(d.Pages, w.Pages[i].page())
	}
	d.NumPages = cmp.Or(d.NumPages, len(d.Pages))
	return d
}

func (w *pageWire) page() archive.Page {
	p := archive.Page{ID: w.ID.id()}
	for _, n := range w.Notes {
		p.Notes = append(p.Notes, archive.Note{Text: n.Text.text, Date: n.Date.text, Creator: n.CreatorName.text})
	}
	for _, s := range w.Stamps {
		p.Stamps = append(p.Stamps, archive.Stamp{
			Title: s.Title.text, Text: s.Text.text, Date: s.Date.text, Creator: s.CreatorName.text,
		})
	}
	return p
}

// Archive archives an inbox document in the target folder (specification, endpoint 6).
// The archived document may have another ID.
func (c *Client) Archive(ctx context.Context, doc archive.ID, target archive.ArchiveTarget) error {
	form := url.Values{"target-folder-id": {target.Folder.String()}}
	if target.Name != "" {
		form.Set("target-document-name", target.Name)
	}
	if keywords := EscapeList(target.Keywords); keywords != "" {
		form.Set("keywords", keywords)
	}
	r := post(OpArchive, documentPath(doc, "archive"), form).about(doc).requireID(target.Folder)
	return c.service.acknowledge(ctx, r.requireText(target.Name).requireText(target.Keywords...))
}

// SetAutoExport sets the auto-export status of a document (specification, endpoint 7).
func (c *Client) SetAutoExport(ctx context.Context, doc archive.ID, on bool) error {
	r := post(OpAutoExportSet, "/document/auto_export_status/set", url.Values{
		"document-id":       {doc.String()},
		"autoexport-status": {strconv.FormatBool(on)},
	}).about(doc)
	r.repeat = harmless
	return c.service.acknowledge(ctx, r)
}

// Rename renames a document.
func (c *Client) Rename(ctx context.Context, doc archive.ID, name string) error {
	r := post(OpRename, documentPath(doc, "rename"), url.Values{"new-name": {name}}).about(doc).requireText(name)
	return c.service.acknowledge(ctx, r)
}

// Delete deletes an inbox document.
func (c *Client) Delete(ctx context.Context, doc archive.ID) error {
	return c.service.acknowledge(ctx, post(OpDelete, documentPath(doc, "delete"), nil).about(doc))
}

// Metadata returns a document's external metadata, in the service's order.
func (c *Client) Metadata(ctx context.Context, doc archive.ID) ([]archive.KeyValue, error) {
	var entries pairs
	_, err := c.service.decode(ctx, get(OpMetadata, documentPath(doc, "metadata"), nil).about(doc), smallLimit, &entries)
	return entries, err
}

// SetMetadata sets entries of a document's external metadata. Other entries keep their values.
func (c *Client) SetMetadata(ctx context.Context, doc archive.ID, entries []archive.KeyValue) error {
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	r := postJSON(OpMetadataSet, documentPath(doc, "metadata"), values).about(doc)
	for _, e := range entries {
		r.requireText(e.Key, e.Value)
	}
	return c.service.acknowledge(ctx, r)
}

// SetKeywords replaces the keywords of a document.
func (c *Client) SetKeywords(ctx context.Context, doc archive.ID, keywords []string) error {
	if keywords == nil {
		keywords = []string{} // its JSON is an array, that of nil is null
	}
	r := postJSON(OpKeywordsSet, documentPath(doc, "keywords"), keywords).about(doc).requireText(keywords...)
	return c.service.acknowledge(ctx, r)
}

// UploadedWith returns the other documents that the upload of a document made: of an e-mail, its attachments.
// A service answers archive.KindNotFound also while it processes the upload.
func (c *Client) UploadedWith(ctx context.Context, doc archive.ID) ([]archive.ID, error) {
	var numbers list[scalar]
	_, err := c.service.decode(ctx, get(OpUploadedWith, documentPath(doc, "uploaded-with"), nil).about(doc), smallLimit, &numbers)
	var ids []archive.ID
	for _, n := range numbers {
		ids = append(ids, n.id())
	}
	return ids, err
}

// The operations that send a file.
var (
	OpFileUpload = Operation{"file-upload", "send the file", bulky}
	OpReplace    = Operation{"document/replace", "replace the document", optional | bulky}
)

// expectContinueFrom is the size in bytes from which a request asks the service with Expect:
// 100-continue before it sends the body (RFC 9110, section 10.1.1).
const expectContinueFrom = 1 << 20

// Upload archives a file, or places it in an inbox (specification, endpoint 3), and returns the ID of the new document,
// 0 if the answer has none. The file is not read after Upload has returned.
//
// After an error for which archive.Doubtful is true the document may exist.
func (c *Client) Upload(ctx context.Context, upload archive.Upload, file archive.Blob) (archive.ID, error) {
	r := postFile(OpFileUpload, "/file-upload", uploadFields(upload), upload.Name, file)
	r.requireID(upload.Folder).refuse(upload.CheckAttributes()).requireText(upload.AttributeTexts()...).requireText(upload.Name)
	answer, err := c.service.create(ctx, r)
	id := answer.id()
	if err == nil && id == 0 {
		err = c.service.vouched(ctx, r.op)
	}
	return id, err
}

// uploadFields returns the fields of the form. An attribute's field has its name, except for metadata.
func uploadFields(u archive.Upload) []field {
	fields := []field{{"target-folder-id", u.Folder.String()}, {"target-document-name", u.Name}}
	for _, a := range u.All() {
		switch v := a.Value.(type) {
		case *[]string:
			fields = append(fields, field{a.Name, EscapeList(*v)})
		case *[]archive.KeyValue:
			fields = append(fields, field{"external-metadatas", EscapeMetadata(*v)})
		case *string:
			fields = append(fields, field{a.Name, *v})
		case *archive.Flag:
			fields = append(fields, field{a.Name, v.String()})
		}
	}
	return fields
}

// Replace replaces the content of an inbox document by file, under the given file name. Keywords
// are sent only if there are some.
func (c *Client) Replace(ctx context.Context, doc archive.ID, name string, keywords []string, file archive.Blob) error {
	r := postFile(OpReplace, documentPath(doc, "replace"), nil, name, file).about(doc).requireText(name).requireText(keywords...)
	if list := EscapeList(keywords); list != "" {
		r.query = url.Values{"keywords": {list}}
	}
	return c.service.acknowledge(ctx, r)
}

// postFile returns a request that sends a form with a file.
func postFile(op Operation, path string, fields []field, fileName string, file archive.Blob) *request {
	body, err := multipartPayload(fields, fileName, file)
	r := &request{op: op, method: http.MethodPost, path: path, body: body, invalid: err}
	if err == nil && body.size >= expectContinueFrom {
		r.header = http.Header{"Expect": {"100-continue"}}
	}
	return r
}

type field struct{ name, value string }

// multipartPayload returns a body of the fields that have a value, then the file as
// upload-data (RFC 7578). Only the framing is held in memory.
func multipartPayload(fields []field, fileName string, file archive.Blob) (*payload, error) {
	var frame bytes.Buffer
	form := multipart.NewWriter(&frame)
	for _, f := range fields {
		if f.value == "" {
			continue
		}
		if err := form.WriteField(f.name, f.value); err != nil {
			return nil, err
		}
	}
	if _, err := form.CreateFormFile("upload-data", strings.Map(inHeader, fileName)); err != nil {
		return nil, err
	}
	before := frame.Len()
	if err := form.Close(); err != nil {
		return nil, err
	}
	head, tail := frame.Bytes()[:before], frame.Bytes()[before:]
	size := file.Size()
	return &payload{
		contentType: form.FormDataContentType(),
		size:        int64(len(head)) + size + int64(len(tail)),
		open: func() io.Reader {
			return io.MultiReader(bytes.NewReader(head), &exactly{io.NewSectionReader(file, 0, size), size}, bytes.NewReader(tail))
		},
	}, nil
}

// inHeader replaces characters that are not allowed in the header of a part (RFC 9110, section
// 5.5), for which a service would refuse the whole body. mime/multipart escapes line breaks. The
// document's name is sent in another field.
func inHeader(r rune) rune {
	if unicode.IsControl(r) && !strings.ContainsRune("\r\n\t", r) {
		return '_'
	}
	return r
}

// exactly reads left bytes, and fails if the source ends before: a truncated file is never sent as a complete one.
type exactly struct {
	source io.Reader
	left   int64
}

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.source.Read(p)
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
