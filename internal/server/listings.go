package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/params"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
)

// The answers below have the forms
//
//	{"free-archive-structure": true, "folders": [FOLDER, ...]}
//	{"free-inbox-structure": true, "inboxes": [{"user-id": 1, "folder": FOLDER}, ...], "folders": []}
//
// where a FOLDER is {"id": 1, "name": "M", "folders": [FOLDER, ...]}, without its folders in a lazy
// answer. Clients generated from the public document need the empty folders beside the inboxes.

// listHandlers answer requests for folders and lists of documents.
type listHandlers struct {
	location  *time.Location
	hideSizes bool
	kept      *keptLists // nil keeps none
}

func (h listHandlers) routes() []route {
	return []route{
		{http.MethodGet, "/archivestructure", archiveStructure, specified},
		{http.MethodGet, "/inboxes", inboxes, specified},
		{http.MethodPost, "/folder/create", folderCreate, specified},
		{http.MethodGet, "/document/list", h.documentList, specified},
	}
}

// archiveStructure answers GET /archivestructure (specification, endpoint 1): the mandators, or the
// children of a parent, without inboxes. lazy leaves out their children.
func archiveStructure(w *response, r *request) error {
	const field = "parent-folder-id"
	p := query(r)
	below, parent, lazy := p.Has(field), p.ID(field), p.Flag("lazy")
	if err := p.Err(); err != nil {
		return err
	}
	var folders []store.Folder
	var err error
	if below {
		folders, err = foldersBelow(r.Context(), r.catalog, parent, lazy)
		err = refusal.Blame(field, err)
	} else {
		folders, err = roots(r.Context(), r.catalog, false, lazy)
	}
	if err != nil {
		return err
	}
	f := grow(folders, parent, lazy)
	w.stream(func(out *bufio.Writer) {
		_, _ = out.WriteString(`{"free-archive-structure":true,"folders":[`)
		f.top(func(at int32) {
			f.write(out, at)
			if f.next[at] != 0 {
				_ = out.WriteByte(',')
			}
		})
		_, _ = out.WriteString("]}")
	})
	return nil
}

// inboxes answers GET /inboxes (specification, endpoint 5), with the public parameter lazy.
func inboxes(w *response, r *request) error {
	p := query(r)
	lazy := p.Flag("lazy")
	if err := p.Err(); err != nil {
		return err
	}
	folders, err := roots(r.Context(), r.catalog, true, lazy)
	if err != nil {
		return err
	}
	f := grow(folders, 0, lazy)
	w.stream(func(out *bufio.Writer) {
		_, _ = out.WriteString(`{"free-inbox-structure":true,"inboxes":[`)
		f.top(func(at int32) {
			_, _ = fmt.Fprintf(out, `{"user-id":%d,"folder":`, f.folders[at-1].UserID)
			f.write(out, at)
			_ = out.WriteByte('}')
			if f.next[at] != 0 {
				_ = out.WriteByte(',')
			}
		})
		_, _ = out.WriteString(`],"folders":[]}`)
	})
	return nil
}

// roots returns the mandators, or the inboxes, with all folders below them unless lazy.
func roots(ctx context.Context, c catalog.Folders, inboxes, lazy bool) ([]store.Folder, error) {
	if lazy {
		return c.Roots(ctx, inboxes)
	}
	return c.Tree(ctx, inboxes)
}

// foldersBelow returns the children of an archive folder, or with lazy unset all folders below it.
func foldersBelow(ctx context.Context, c catalog.Folders, parent archive.ID, lazy bool) ([]store.Folder, error) {
	f, err := c.Folder(ctx, parent)
	if err != nil {
		return nil, err
	}
	if f.Inbox {
		return nil, refusal.New(archive.KindNotFound, "folder %d lies in an inbox", parent)
	}
	if lazy {
		return c.Children(ctx, parent)
	}
	return c.Below(ctx, parent)
}

// forest is a folder structure that is written while it is walked. It takes 8 bytes for each folder,
// in addition to the folders.
type forest struct {
	folders []store.Folder // by ascending id
	lazy    bool           // leave out the children of those at the top
	// child and next are the first child of a folder, and the next folder with the same parent, as
	// indices into folders from 1 on; 0 is none. child[0] is the first folder at the top.
	child, next []int32
}

// grow links folders, given by ascending id; those of parent are at the top. A folder without its parent is left out.
func grow(folders []store.Folder, parent archive.ID, lazy bool) *forest {
	f := &forest{folders: folders, lazy: lazy, child: make([]int32, len(folders)+1), next: make([]int32, len(folders)+1)}
	for i := len(folders) - 1; i >= 0; i-- { // so that the first child ends up first
		above := 0
		if folders[i].Parent != parent {
			at, found := slices.BinarySearchFunc(folders, folders[i].Parent, func(f store.Folder, id archive.ID) int { return cmp.Compare(f.ID, id) })
			if !found {
				continue
			}
			above = at + 1
		}
		f.next[i+1] = f.child[above]
		f.child[above] = int32(i + 1) //nolint:gosec // no archive has so many folders
	}
	return f
}

// top calls each for the folders at the top, by ascending id.
func (f *forest) top(each func(at int32)) {
	for at := f.child[0]; at != 0; at = f.next[at] {
		each(at)
	}
}

// write writes a folder with those below it. The Flush of out returns errors.
func (f *forest) write(out *bufio.Writer, at int32) {
	folder := f.folders[at-1]
	_, _ = out.Write(strconv.AppendInt(append(out.AvailableBuffer(), `{"id":`...), int64(folder.ID), 10))
	_, _ = out.Write(appendText(append(out.AvailableBuffer(), `,"name":`...), folder.Name))
	if !f.lazy {
		_, _ = out.WriteString(`,"folders":[`)
		for below := f.child[at]; below != 0; below = f.next[below] {
			f.write(out, below)
			if f.next[below] != 0 {
				_ = out.WriteByte(',')
			}
		}
		_ = out.WriteByte(']')
	}
	_ = out.WriteByte('}')
}

// folderCreate answers POST /folder/create (specification, endpoint 4), also for inboxes.
func folderCreate(w *response, r *request) error {
	p, err := form(w, r)
	if err != nil {
		return err
	}
	parent, name := p.RequiredID("parent-folder-id"), p.FolderName("folder-name")
	if err := p.Err(); err != nil {
		return err
	}
	ctx := r.detached()
	if _, err := r.catalog.Folder(ctx, parent); err != nil {
		return refusal.Blame("parent-folder-id", err)
	}
	id, err := r.catalog.AddFolder(ctx, store.Folder{Parent: parent, Name: name})
	if err != nil {
		return refusal.Blame("folder-name", err)
	}
	return w.json(wireCreated{ID: id, Name: name})
}

// documentList answers GET /document/list (specification, endpoint 2), by ascending id. Documents
// are sent while they are read.
func (h listHandlers) documentList(w *response, r *request) error {
	p := query(r)
	q := store.Query{
		Folder:    p.RequiredID("folder-id"),
		Recursive: p.Flag("subfolders-recursive"),
		From:      p.After("filter-date-created-after", h.location),
	}
	how := listing{
		include:    p.List("included-metadata-keys"),
		exclude:    p.List("excluded-matadata-keys"), // the specification's spelling
		autoExport: p.Flag("with-autoexport-status"),
		hideSizes:  h.hideSizes,
		location:   h.location,
	}
	if err := p.Err(); err != nil {
		return err
	}
	if _, err := r.catalog.Folder(r.Context(), q.Folder); err != nil {
		return refusal.Blame("folder-id", err)
	}
	list, keep := h.kept.find(r.Context(), r.catalog, q, how)
	w.Header().Set("Content-Type", "application/json")
	if list != nil {
		return list.send(w)
	}
	if keep == nil {
		return stream(w, r, q, how)
	}
	if err := stream(io.MultiWriter(w, keep), r, q, how); err != nil {
		return err
	}
	keep.whole()
	return nil
}

// listBuffers are as long as most lists: each part of one that is sent wakes the client.
var listBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 256<<10) }}

// stream writes the list. The response begins with the first full buffer, so an early failure can
// still be answered by a problem.
func stream(w io.Writer, r *request, q store.Query, how listing) error {
	out := listBuffers.Get().(*bufio.Writer) //nolint:forcetypeassert // nothing else is put there
	out.Reset(w)
	defer func() {
		out.Reset(nil)
		listBuffers.Put(out)
	}()
	before := byte('[')
	var element []byte
	err := r.catalog.List(r.Context(), q, func(d store.Listed) (err error) {
		if element, err = how.element(append(element[:0], before), d); err != nil {
			return err
		}
		before = ','
		if _, err := out.Write(element); err != nil {
			return fmt.Errorf("send document list: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if before == '[' {
		_ = out.WriteByte(before) // Flush returns the error
	}
	_ = out.WriteByte(']')
	if err := out.Flush(); err != nil {
		return fmt.Errorf("send document list: %w", err)
	}
	return nil
}

// keptLists keeps lists that were requested twice, until a change is committed to the database. Several
// mounts list the same folders over and over.
type keptLists struct {
	mu sync.Mutex
	// asked are lists that were requested once.
	asked *simplelru.LRU[listKey, struct{}]  // +checklocks:mu
	lists *simplelru.LRU[listKey, *keptList] // +checklocks:mu
	// bytes is the length of all lists.
	bytes int // +checklocks:mu
}

// Limits of keptLists.
const (
	maxAsked    = 4096     // lists of which it is known that they were requested
	maxKept     = 32 << 20 // bytes of all lists
	maxKeptList = 1 << 20  // bytes of one of them
)

// listKey identifies a list. Who may see the folder may see all of it.
type listKey struct {
	query            store.Query
	include, exclude string
	autoExport       bool
}

// keptList is a list as it was sent. It is not changed any more once it is kept.
type keptList struct {
	version store.Version // before it was read
	parts   [][]byte
	bytes   int
}

func (l *keptList) send(w *response) error {
	w.Header().Set("Content-Length", strconv.Itoa(l.bytes))
	for _, part := range l.parts {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("send document list: %w", err)
		}
	}
	return nil
}

func newKeptLists() *keptLists {
	asked, err1 := simplelru.NewLRU[listKey, struct{}](maxAsked, nil)
	lists, err2 := simplelru.NewLRU[listKey, *keptList](maxAsked, nil)
	if err := errors.Join(err1, err2); err != nil {
		panic(err) // the sizes are not positive
	}
	return &keptLists{asked: asked, lists: lists}
}

// find returns the list if it is kept and nothing was committed since; else, if the list is worth
// keeping, keep takes what is sent.
func (k *keptLists) find(ctx context.Context, c catalog.Documents, q store.Query, how listing) (list *keptList, keep *keeping) {
	key := listKey{q, strings.Join(how.include, "\x00"), strings.Join(how.exclude, "\x00"), how.autoExport}
	if k == nil || !k.again(key) {
		return nil, nil
	}
	version := c.Version(ctx) // before the documents are read
	if version == 0 {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if kept, ok := k.lists.Get(key); ok && kept.version == version {
		return kept, nil
	}
	return nil, &keeping{lists: k, key: key, list: keptList{version: version}}
}

// again notes that a list is requested, and reports whether it was before.
func (k *keptLists) again(key listKey) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.asked.Get(key); ok {
		return true
	}
	k.asked.Add(key, struct{}{})
	return false
}

// put keeps a list in place of those that were not requested for longest.
func (k *keptLists) put(key listKey, list *keptList) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.lists.Peek(key); ok {
		k.bytes -= old.bytes
		k.lists.Remove(key)
	}
	for k.bytes+list.bytes > maxKept || k.lists.Len() >= maxAsked {
		_, oldest, _ := k.lists.RemoveOldest()
		k.bytes -= oldest.bytes
	}
	k.lists.Add(key, list)
	k.bytes += list.bytes
}

// keeping collects a list that is being sent.
type keeping struct {
	lists *keptLists
	key   listKey
	list  keptList
}

func (k *keeping) Write(p []byte) (int, error) {
	if k.list.bytes += len(p); k.list.bytes > maxKeptList {
		k.list.parts = nil
	} else {
		k.list.parts = append(k.list.parts, bytes.Clone(p))
	}
	return len(p), nil
}

// whole keeps the list, all of which was sent.
func (k *keeping) whole() {
	if k.list.bytes <= maxKeptList {
		k.lists.put(k.key, &k.list)
	}
}

// listing is the options of a document list.
type listing struct {
	include, exclude []string // metadata keys; empty for all, for none
	autoExport       bool
	hideSizes        bool
	location         *time.Location
}

// element appends a document as an element of GET /document/list:
//
//	{"id": 1, "name": "a.pdf", "num-pages": 1, "creation-date": "2023-11-22T14:14:29",
//	"archiving-date": null, "archiving-user-id": 0, "folder-id": 1, "keywords": ["x"],
//	"external-metadata": [{"key": "k", "value": "v"}], "autoexport-status": false,
//	"content-length": 1, "content-type": "application/pdf"}
//
// The last three are optional. The JSON is written by hand, because lists are long, and reflection
// would take most of their time.
func (l listing) element(b []byte, d store.Listed) ([]byte, error) {
	metadata, err := l.metadata(d.Metadata)
	if err != nil {
		return nil, err
	}
	b = strconv.AppendInt(append(b, `{"id":`...), int64(d.ID), 10)
	b = appendText(append(b, `,"name":`...), d.Name)
	b = strconv.AppendInt(append(b, `,"num-pages":`...), int64(d.Pages), 10)
	b = l.date(append(b, `,"creation-date":`...), d.Created)
	b = l.date(append(b, `,"archiving-date":`...), d.Archived)
	b = strconv.AppendInt(append(b, `,"archiving-user-id":`...), d.ArchiverID, 10)
	b = strconv.AppendInt(append(b, `,"folder-id":`...), int64(d.Folder), 10)
	b = append(append(b, `,"keywords":`...), d.Keywords...)
	b = append(append(b, `,"external-metadata":`...), metadata...)
	if l.autoExport {
		b = strconv.AppendBool(append(b, `,"autoexport-status":`...), d.AutoExport)
	}
	if !l.hideSizes {
		b = strconv.AppendInt(append(b, `,"content-length":`...), d.Size, 10)
		b = appendText(append(b, `,"content-type":`...), d.ContentType)
	}
	return append(b, "}\n"...), nil
}

// date appends a time, null for the zero one.
func (l listing) date(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	return append(t.In(l.location).AppendFormat(append(b, '"'), params.Time), '"')
}

// metadata leaves out the entries that were not requested. Without a choice it copies the stored JSON.
func (l listing) metadata(stored string) (string, error) {
	if len(l.include) == 0 && len(l.exclude) == 0 {
		return stored, nil
	}
	var pairs []wireKeyValue
	if err := json.Unmarshal([]byte(stored), &pairs); err != nil {
		return "", fmt.Errorf("read metadata: %w", err)
	}
	chosen := slices.DeleteFunc(pairs, func(pair wireKeyValue) bool {
		return len(l.include) > 0 && !slices.Contains(l.include, pair.Key) || slices.Contains(l.exclude, pair.Key)
	})
	encoded, err := json.Marshal(chosen)
	if err != nil {
		return "", fmt.Errorf("encode metadata: %w", err)
	}
	return string(encoded), nil
}

// appendText appends a string in JSON.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // invalid UTF-8 is replaced
	return b
}
