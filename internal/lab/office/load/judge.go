//go:build linux

package load

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/archivefs/archivefs/internal/lab/direct"
	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// Verdict is what the archive made of what was written.
type Verdict struct {
	Told      int // files whose writers were told that they are written
	Documents int // of them in the archive, once and with their bytes
	Untold    int // files whose writers were told of an error
	Lost      []string
	Doubled   []string
	Other     []string // documents with other bytes, or that nobody wrote
}

// each goes through the documents of the folders in which people write.
func each(ctx context.Context, a *host.Host, people int, do func(at string, d direct.Document) error) error {
	places := []string{host.Inbox}
	for i := range people {
		places = append(places, path.Join(in, host.Person(i)))
	}
	for _, folder := range places {
		all, err := a.Documents(ctx, folder)
		if err != nil {
			return err
		}
		for _, d := range all {
			if err := do(path.Join(folder, d.Name), d); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge waits until the mount has sent everything, and compares what the archive has, and did not have before, with what
// was written.
func judge(ctx context.Context, h *host.Host, people int, old map[int64]bool, written []*Written) (*Verdict, error) {
	err := host.Until(ctx, "an end of the uploads", func() (bool, error) {
		uploads, err := h.Uploads(ctx)
		waits := slices.IndexFunc(uploads, func(u host.Upload) bool { return u.State == "pending" })
		if err == nil && waits >= 0 {
			err = fmt.Errorf("%+v waits", uploads[waits])
		}
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	has := map[string][]string{} // contents by path
	err = each(ctx, h, people, func(at string, d direct.Document) error {
		if old[d.ID] {
			return nil
		}
		content, err := h.Content(ctx, d.ID)
		has[at] = append(has[at], string(content))
		return err
	})
	if err != nil {
		return nil, err
	}
	return compare(written, has), nil
}

// compare compares what was written with the contents that the archive has at each path.
func compare(written []*Written, has map[string][]string) *Verdict {
	v := &Verdict{}
	known := map[string]bool{}
	for _, w := range written {
		known[w.Path] = true
		if w.Told {
			v.Told++
		} else {
			v.Untold++
		}
		same := 0
		for _, content := range has[w.Path] {
			if content == w.Content {
				same++
			} else {
				v.Other = append(v.Other, fmt.Sprintf("%s has %d other bytes", w.Path, len(content)))
			}
		}
		switch {
		case same > 1:
			v.Doubled = append(v.Doubled, fmt.Sprintf("%s is there %d times", w.Path, same))
		case same == 1 && w.Told:
			v.Documents++
		case same == 0 && w.Told:
			v.Lost = append(v.Lost, w.Path+" is lost")
		}
	}
	for at := range has {
		if !known[at] {
			v.Other = append(v.Other, "nobody wrote "+at)
		}
	}
	return v
}

// err says which promises were broken.
func (v *Verdict) err() (err error) {
	for _, what := range slices.Concat(v.Lost, v.Doubled, v.Other) {
		err = errors.Join(err, errors.New(what))
	}
	return err
}
