//go:build linux

package scanner

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
)

// Scan is what a device knows of a paper.
type Scan struct {
	*Paper
	// Server is that of its device.
	Server Server
	// Told says that the device was told that all of it was written.
	Told bool
	// Whole is how often it wrote all of it, whatever it was told.
	Whole int
	// Left says that it broke off, and the server has some of it.
	Left bool
}

// is tells whether d is the whole scan.
func (s *Scan) is(d Document) bool { return d.Name == s.Name && bytes.Equal(d.Content, s.Content()) }

// begins tells whether d has its beginning.
func (s *Scan) begins(d Document) bool {
	return d.Name == s.Name && bytes.HasPrefix(s.Content(), d.Content)
}

// Document is what the archive has, or what is kept of an upload that failed.
type Document struct {
	Name    string
	Content []byte
}

// Verdict is what the archive made of the scans. All counts but the first three should be 0.
type Verdict struct {
	Documents int // that are a whole scan
	Kept      int // scans that broke off, and are failed uploads
	// Early are scans that are kept whole, as failed uploads: vsftpd told their device that they are
	// written before it closed the file, and then the close failed.
	Early int

	Lost       int // the device was told that it is written, and there is no document
	Doubled    int // there is more than one document
	Cut        int // documents that lack pages or their end
	Disordered int // documents whose pages are in another order, or of several scans
	Misnamed   int // documents under another name
	Junk       int // files that were sent and are no scan
	Vanished   int // scans that broke off, and are nowhere
	GivenUp    int // the device was never told that it is written
	What       []string
}

// Count is how often something was seen.
type Count struct {
	Name string
	N    int
}

// Promises are the kinds of broken promises.
func (v *Verdict) Promises() []Count {
	return []Count{
		{"lost", v.Lost},
		{"more than once in the archive", v.Doubled},
		{"without all pages or the end", v.Cut},
		{"pages in another order, or of several scans", v.Disordered},
		{"under another name", v.Misnamed},
		{"sent, and no scan", v.Junk},
		{"broken off, and nowhere", v.Vanished},
		{"given up by the device", v.GivenUp},
	}
}

// Broken is how many promises were broken.
func (v *Verdict) Broken() (n int) {
	for _, c := range v.Promises() {
		n += c.N
	}
	return n
}

func (v *Verdict) count(n *int, format string, args ...any) {
	*n++
	v.What = append(v.What, fmt.Sprintf(format, args...))
}

// Judge compares what the archive has with the scans. sent are the sums of all files that were sent to
// the service, and failed are the failed uploads.
func Judge(scans []*Scan, documents []Document, sent [][sha256.Size]byte, failed []Document) *Verdict {
	v := &Verdict{}
	bySum := map[[sha256.Size]byte]*Scan{}
	times := map[*Scan]int{}
	for _, s := range scans {
		bySum[sha256.Sum256(s.Content())] = s
	}
	for _, d := range documents {
		s, whole := bySum[sha256.Sum256(d.Content)]
		if !whole {
			v.strange(scans, d)
			continue
		}
		times[s]++
		v.Documents++
		if d.Name != s.Name {
			v.count(&v.Misnamed, "scan %d (%s) is called %s, and not %s", s.N, s.Kind, d.Name, s.Name)
		}
	}
	for _, s := range scans {
		if !s.Told && s.Kind != BrokenOff {
			v.count(&v.GivenUp, "scan %d (%s, %s) was given up by its device", s.N, s.Kind, s.Name)
		}
		switch n := times[s]; {
		case n == 0 && s.Told && s.Server == Vsftpd && slices.ContainsFunc(failed, s.is):
			v.Early++
		case n == 0 && s.Told:
			v.count(&v.Lost, "scan %d (%s, %s) is lost", s.N, s.Kind, s.Name)
		case n > 1:
			v.count(&v.Doubled, "scan %d (%s, %s) is in the archive %d times; the device wrote it %d times to its end", s.N, s.Kind, s.Name, n, s.Whole)
		case n == 0 && s.Kind == BrokenOff && slices.ContainsFunc(failed, s.begins):
			v.Kept++
		case n == 0 && s.Left:
			v.count(&v.Vanished, "scan %d (%s, %s) broke off, and is no failed upload", s.N, s.Kind, s.Name)
		}
	}
	for _, sum := range sent {
		if bySum[sum] == nil {
			v.count(&v.Junk, "a file was sent that is no scan: SHA-256 %x", sum)
		}
	}
	return v
}

// strange counts a document that is no whole scan.
func (v *Verdict) strange(scans []*Scan, d Document) {
	papers, pages := pagesIn(d.Content)
	i := slices.IndexFunc(scans, func(s *Scan) bool { return bytes.HasPrefix(s.Content(), d.Content) })
	switch {
	case i >= 0:
		v.count(&v.Cut, "%s has %d of %d bytes of scan %d (%s)", d.Name, len(d.Content), len(scans[i].Content()), scans[i].N, scans[i].Kind)
	case len(papers) == 0:
		v.count(&v.Junk, "%s, with %d bytes, is no scan", d.Name, len(d.Content))
	case len(slices.Compact(papers)) > 1 || !slices.IsSorted(pages) || len(slices.Compact(slices.Clone(pages))) < len(pages):
		v.count(&v.Disordered, "%s has the pages %v of the scans %v", d.Name, pages, papers)
	default:
		v.count(&v.Cut, "%s has only the pages %v of scan %d", d.Name, pages, papers[0])
	}
}
