package care

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/whole"
)

// Verification is the options of a verification.
type Verification struct {
	// Fast checks that contents exist and their sizes, and does not read them.
	Fast bool
	// Grace is the age from which an unused content is an orphan. Services publish contents before they refer to them.
	Grace time.Duration
	// Settle is the longest time between a change and the removal that follows it: findings are
	// checked again after that time. 0 is a second.
	Settle time.Duration
	// RemoveOrphans removes orphans; the Store must be writable, and nobody else may use it if it is SQLite.
	RemoveOrphans bool
	// SetPages, if set, corrects the number of pages of the documents that have a content.
	SetPages func(ctx context.Context, digest string, pages int) error
	// Found is called for each finding, by one goroutine at a time. Its error ends the verification.
	Found func(Finding) error
	// Seen, if set, counts contents and bytes as they are read.
	Seen *Progress
}

// Progress counts finished work. Its fields may be read at any time.
type Progress struct {
	Contents, Bytes atomic.Int64
	// RowsLeft is how many rows of a database are still to be written, if that takes long.
	RowsLeft atomic.Int64
}

// Verified are the figures of a verification.
type Verified struct {
	Documents int64        `json:"documents"`
	Contents  int64        `json:"contents"`
	Bytes     int64        `json:"bytes"` // that were read or, in a fast one, looked up
	Findings  map[Kind]int `json:"findings"`
	Removed   int          `json:"orphans-removed"`
	Fixed     int          `json:"pages-corrected"`
}

// All counts the defects that remain.
func (v Verified) All() int {
	n := -v.Removed - v.Fixed
	for kind, count := range v.Findings {
		if kind != Unread && kind != Incomplete {
			n += count
		}
	}
	return n
}

// verifying is a verification under way.
type verifying struct {
	*Archive
	Verification
	began   time.Time
	buffers sync.Pool // of *[portion]byte

	mu     sync.Mutex
	result Verified // +checklocks:mu
}

// Verify compares every row with its content and every content with its name, and checks the rules for rows. Its memory
// does not grow with the archive, and no read of the database lasts longer than a pass over one table. It returns an
// error if it cannot read something, unless that is the damage.
func (a *Archive) Verify(ctx context.Context, how Verification) (Verified, error) {
	if how.Seen == nil {
		how.Seen = &Progress{}
	}
	v := &verifying{
		Archive: a, Verification: how, began: time.Now(), result: Verified{Findings: map[Kind]int{}},
		buffers: sync.Pool{New: func() any { return new([portion]byte) }},
	}
	for _, part := range []func(context.Context) error{v.claimed, v.database, v.rules, v.referenced, v.orphans, v.unread} {
		if err := part(ctx); err != nil {
			return v.result, err
		}
	}
	v.result.Bytes = how.Seen.Bytes.Load()
	return v.result, nil
}

// found counts and reports a finding.
func (v *verifying) found(f Finding) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.result.Findings[f.Kind]++
	return v.Found(f)
}

// database runs the database's own check. Damage that ends it is a finding, too.
func (v *verifying) database(ctx context.Context) error {
	err := v.Store.Verification.Integrity(ctx, func(text string) error { return v.found(Finding{Kind: Database, Text: text}) })
	if err != nil && ctx.Err() == nil {
		return v.found(Finding{Kind: Database, Text: err.Error()})
	}
	return err
}

// rules looks for rows that break rules. It checks findings twice: a service removes a document and
// the renditions of its content one after the other.
func (v *verifying) rules(ctx context.Context) error {
	first := map[store.Violation]bool{}
	err := v.Store.Verification.Violations(ctx, func(b store.Violation) error {
		if len(first) < batch {
			first[b] = true
		}
		return nil
	})
	if err != nil || len(first) == 0 {
		return err
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	return v.Store.Verification.Violations(ctx, func(b store.Violation) error {
		if len(first) < batch && !first[b] {
			return nil
		}
		return v.found(Finding{Kind: Rule, Text: b.Rule, Folder: b.Folder, Document: b.Document, Content: b.Content})
	})
}

// settle waits until services have finished changes in progress.
func (v *verifying) settle(ctx context.Context) error {
	if v.RemoveOrphans { // no service uses the archive
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(cmp.Or(v.Settle, time.Second)):
		return nil
	}
}

// unread names the contents whose text could not be read.
func (v *verifying) unread(ctx context.Context) error {
	for after := ""; ; {
		some, err := v.Store.Index.Unread(ctx, after, batch)
		if err != nil || len(some) == 0 {
			return err
		}
		for _, r := range some {
			after = r.Digest
			if r.State == store.NoEngine {
				r.Text += " is not installed"
			}
			if err := v.about(ctx, Unread, r.Digest, r.Text); err != nil {
				return err
			}
		}
	}
}

// orphans looks for unused contents, and removes them if RemoveOrphans is set.
func (v *verifying) orphans(ctx context.Context) error {
	used := references{store: v.Store}
	var suspects []string
	judge := func() error {
		err := v.judge(ctx, suspects)
		suspects = suspects[:0]
		return err
	}
	err := v.Contents.Walk(ctx, v.began.Add(-v.Grace), func(digest string) error {
		has, err := used.has(ctx, digest)
		if err != nil || has {
			return err
		}
		if suspects = append(suspects, digest); len(suspects) < batch {
			return nil
		}
		return judge()
	})
	if err != nil {
		return fmt.Errorf("look for orphans: %w", err)
	}
	return judge()
}

// judge checks suspected orphans again: a service may have started to use them, or be about to remove them.
func (v *verifying) judge(ctx context.Context, suspects []string) error {
	if len(suspects) == 0 {
		return nil
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	for _, digest := range suspects {
		used, err := v.Store.Uses.Referenced(ctx, digest)
		if err != nil {
			return err
		}
		kept, err := length(ctx, v.Contents, digest)
		if used || errors.Is(err, blob.ErrMissing) {
			continue
		}
		if err != nil {
			return err
		}
		if err := v.orphan(ctx, digest, kept); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifying) orphan(ctx context.Context, digest string, size int64) error {
	text := fmt.Sprintf("nothing refers to it; %d bytes", size)
	var err error
	if v.RemoveOrphans {
		err = v.Store.Uses.Drop(ctx, digest, func(ctx context.Context, digest string) error {
			if err := v.Contents.Remove(ctx, digest); err != nil {
				return err
			}
			v.mu.Lock()
			v.result.Removed++
			v.mu.Unlock()
			text += "; removed"
			return nil
		})
	}
	return errors.Join(err, v.found(Finding{Kind: Orphan, Content: digest, Text: text}))
}

const (
	// batch is how many references are read, or suspects kept, at a time.
	batch = 1000
	// abreast is how many contents are read at a time.
	abreast = 2
	// portion is how many bytes of a content are read at a time.
	portion = 256 << 10
)

// references iterates over all used contents, in ascending order.
type references struct {
	store   *store.Store
	pending []store.Reference // read, not yet returned
	last    string            // the last one that was read
	ended   bool
}

// peek returns the next one, and io.EOF at the end.
func (r *references) peek(ctx context.Context) (store.Reference, error) {
	if len(r.pending) == 0 && !r.ended {
		more, err := r.store.Verification.References(ctx, r.last, batch)
		if err != nil {
			return store.Reference{}, err
		}
		if r.pending, r.ended = more, len(more) == 0; !r.ended {
			r.last = more[len(more)-1].Digest
		}
	}
	if r.ended {
		return store.Reference{}, io.EOF
	}
	return r.pending[0], nil
}

// next returns the next one and advances.
func (r *references) next(ctx context.Context) (store.Reference, error) {
	first, err := r.peek(ctx)
	if err == nil {
		r.pending = r.pending[1:]
	}
	return first, err
}

// has reports whether a content is used. It must be called in ascending order.
func (r *references) has(ctx context.Context, digest string) (bool, error) {
	for {
		first, err := r.peek(ctx)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil || first.Digest >= digest {
			return first.Digest == digest, err
		}
		r.pending = r.pending[1:]
	}
}

// referenced compares all used contents with the stored ones.
func (v *verifying) referenced(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(abreast)
	all := references{store: v.Store}
	for ctx.Err() == nil {
		r, err := all.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		v.mu.Lock()
		v.result.Contents++
		v.result.Documents += r.Documents
		v.mu.Unlock()
		group.Go(func() error { return v.content(ctx, r) })
	}
	return group.Wait()
}

// content compares one content with its name and with its documents.
func (v *verifying) content(ctx context.Context, r store.Reference) error {
	var size int64
	var sum string
	content, err := v.Contents.Open(ctx, r.Digest)
	if err == nil {
		defer func() { _ = content.Close() }()
		size, sum, err = v.read(ctx, content)
	}
	v.Seen.Contents.Add(1)
	switch {
	case errors.Is(err, blob.ErrMissing):
		// Not a finding if the content is not used any more.
		if used, err := v.Store.Uses.Referenced(ctx, r.Digest); err != nil || !used {
			return err
		}
		if again, err := length(ctx, v.Contents, r.Digest); err == nil && again >= 0 {
			return nil // removed and published again
		}
		return v.about(ctx, Missing, r.Digest, "it is not kept")
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return v.about(ctx, Damaged, r.Digest, fmt.Sprintf("it cannot be read: %v", err))
	case sum != "" && sum != r.Digest:
		return v.about(ctx, Damaged, r.Digest, fmt.Sprintf("its %d bytes have another SHA-256: %s", size, sum))
	case r.Documents > 0 && (r.Smallest != size || r.Largest != size):
		return v.about(ctx, Size, r.Digest, fmt.Sprintf("it has %d bytes, and documents say %s", size, span(r.Smallest, r.Largest)))
	}
	return v.inside(ctx, r, content)
}

// about reports a finding about a content, with its documents.
func (v *verifying) about(ctx context.Context, kind Kind, digest, text string) error {
	holders, err := v.Store.Verification.Holders(ctx, digest, named)
	if err != nil {
		return err
	}
	if len(holders) == named {
		text += fmt.Sprintf("; the first %d of its documents are", named)
	}
	return v.found(Finding{Kind: kind, Content: digest, Text: text, Documents: holders})
}

// read returns the length of a content and its SHA-256, which a fast verification leaves empty.
func (v *verifying) read(ctx context.Context, content io.ReadSeeker) (size int64, sum string, err error) {
	if v.Fast {
		size, err = content.Seek(0, io.SeekEnd)
		v.Seen.Bytes.Add(max(size, 0))
		return size, "", err
	}
	hash, buffer := sha256.New(), v.buffers.Get().(*[portion]byte) // of Verify
	defer v.buffers.Put(buffer)
	p := buffer[:]
	for {
		n, err := content.Read(p)
		_, _ = hash.Write(p[:n]) // it never fails
		size += int64(n)
		v.Seen.Bytes.Add(int64(n))
		if errors.Is(err, io.EOF) {
			return size, hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return size, "", err
		}
	}
}

// length is the length of a content; -1 and blob.ErrMissing if there is none.
func length(ctx context.Context, in Contents, digest string) (int64, error) {
	content, err := in.Open(ctx, digest)
	if err != nil {
		return -1, err
	}
	defer func() { _ = content.Close() }()
	return content.Seek(0, io.SeekEnd)
}

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	Damaged  Kind = "damaged"  // a content does not have its digest
	Missing  Kind = "missing"  // a used content is missing
	Size     Kind = "size"     // a content has another size than in its documents
	Pages    Kind = "pages"    // a content has another number of pages than in its documents
	Orphan   Kind = "orphan"   // a content is not used
	Rule     Kind = "rule"     // a row breaks a rule
	Database Kind = "database" // the database itself is damaged
	Unread   Kind = "unread"   // the text of a content could not be read, which is no defect

	// Incomplete is a content that visibly lacks its end. The archive has what it was sent, so that is no defect of it.
	Incomplete Kind = "incomplete"
)

// named is how many documents a finding names.
const named = 20

// Finding is a defect, or what could not be read.
type Finding struct {
	Kind    Kind   `json:"kind"`
	Content string `json:"content,omitempty"` // a digest
	Text    string `json:"text"`
	// Documents are the first documents with the content.
	Documents []store.Holder `json:"documents,omitempty"`
	Folder    archive.ID     `json:"folder,omitempty"`
	Document  archive.ID     `json:"document,omitempty"`
}

// String is a line, and one more for each document.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", f.Kind)
	for _, part := range []struct {
		name string
		id   archive.ID
	}{{"folder", f.Folder}, {"document", f.Document}} {
		if part.id != 0 {
			fmt.Fprintf(&b, "%s %d: ", part.name, part.id)
		}
	}
	if f.Content != "" {
		fmt.Fprintf(&b, "content %s: ", f.Content)
	}
	b.WriteString(archive.Printable(f.Text))
	for _, d := range f.Documents {
		fmt.Fprintf(&b, "\n  document %d: %s", d.ID, archive.Printable(d.Path))
		if d.Tenant != store.DefaultTenant {
			fmt.Fprintf(&b, " (tenant %d)", d.Tenant)
		}
	}
	return b.String()
}

// inside checks whether a document's content has its end, which not every client checks before it sends a file, and
// compares the number of pages of a PDF or a TIFF with that of its documents, which an older version may have counted.
// It does so for contents of a bucket, which are read twice then, only if the number is corrected.
func (v *verifying) inside(ctx context.Context, r store.Reference, content io.ReadSeeker) error {
	at, is := content.(io.ReaderAt)
	if v.Fast || r.ContentType == "" || !is && v.SetPages == nil {
		return nil
	}
	if !is {
		at = sought{content}
	}
	if err := whole.Check(io.NewSectionReader(at, 0, r.Largest)); errors.Is(err, whole.ErrIncomplete) {
		return v.about(ctx, Incomplete, r.Digest, err.Error())
	}
	has := inspect.Pages(at, r.Largest, r.ContentType)
	if has == 0 || has == r.Fewest && has == r.Most {
		return nil
	}
	text := fmt.Sprintf("it has %d pages, and documents say %s", has, span(r.Fewest, r.Most))
	if v.SetPages != nil {
		if err := v.SetPages(ctx, r.Digest, has); err != nil {
			return err
		}
		v.mu.Lock()
		v.result.Fixed++
		v.mu.Unlock()
		text += "; corrected"
	}
	return v.about(ctx, Pages, r.Digest, text)
}

// span is a number, or the least and the greatest.
func span[N int | int64](least, greatest N) string {
	if least == greatest {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, greatest)
}

// sought is a content that is read at any place, by one goroutine.
type sought struct{ io.ReadSeeker }

// ReadAt implements io.ReaderAt.
func (s sought) ReadAt(p []byte, off int64) (int, error) {
	if _, err := s.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(s, p)
	if err != nil && n > 0 {
		err = io.EOF
	}
	return n, err
}
