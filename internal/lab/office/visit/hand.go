//go:build linux

package visit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/archivefs/archivefs/internal/lab/office/windows"
)

// The statuses with which a server refuses.
const (
	denied  windows.StatusError = "STATUS_ACCESS_DENIED"
	sharing windows.StatusError = "STATUS_SHARING_VIOLATION"
	missing windows.StatusError = "STATUS_OBJECT_NAME_NOT_FOUND"
)

// hand does at a share what programs do.
type hand struct{ *windows.Client }

// with opens a file, does something with it and closes it.
func (h *hand) with(path string, how windows.How, do func(f *windows.Handle) error) error {
	f, err := h.Open(path, how)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

// copyIn copies a file as Explorer does: it makes a new file, sets its end, writes, and sets the times.
func (h *hand) copyIn(path, content string) deed {
	return plain(func() error {
		how := windows.How{Access: windows.Read | windows.Write | windows.Delete, Options: windows.File, Disposition: windows.Create}
		return h.with(path, how, func(f *windows.Handle) error {
			if err := f.SetSize(int64(len(content))); err != nil {
				return err
			}
			if _, err := f.WriteAt([]byte(content), 0); err != nil {
				return err
			}
			return f.SetTime(time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC))
		})
	})
}

// create makes an empty file and closes it.
func (h *hand) create(path string) deed {
	how := windows.How{Access: windows.Read | windows.Write, Share: windows.ShareRead, Options: windows.File, Disposition: windows.Create}
	return plain(func() error { return h.with(path, how, func(*windows.Handle) error { return nil }) })
}

// write opens a file, makes it anew and writes it.
func (h *hand) write(path, content string) deed {
	return plain(func() error {
		how := windows.How{Access: windows.Read | windows.Write, Share: windows.ShareRead, Options: windows.File, Disposition: windows.OverwriteIf}
		return h.with(path, how, func(f *windows.Handle) error {
			_, err := f.WriteAt([]byte(content), 0)
			return err
		})
	})
}

// change opens a file that is there, and writes to it.
func (h *hand) change(path, content string) deed {
	return plain(func() error {
		how := windows.How{Access: windows.Read | windows.Write, Share: windows.ShareRead, Options: windows.File, Disposition: windows.OpenOnly}
		return h.with(path, how, func(f *windows.Handle) error {
			_, err := f.WriteAt([]byte(content), 0)
			return err
		})
	})
}

// reads reads a file, or a stream of one, and compares it.
func (h *hand) reads(path, content string) deed {
	return func(ctx context.Context) (string, error) {
		var got []byte
		how := windows.How{Access: windows.Read, Share: windows.ShareAll, Options: windows.File, Disposition: windows.OpenOnly}
		err := h.with(path, how, func(f *windows.Handle) (err error) {
			got, err = f.ReadAll()
			return err
		})
		if err == nil && string(got) != content {
			err = fmt.Errorf("%s has %d bytes, and not those %d that it should have", path, len(got), len(content))
		}
		return "it reads as it was written", err
	}
}

// rename renames or moves a file as Windows does: it opens it to delete it, and not to write it.
func (h *hand) rename(from, to string, replace bool) deed {
	return plain(func() error {
		how := windows.How{Access: windows.Rename, Share: windows.ShareAll, Disposition: windows.OpenOnly}
		return h.with(from, how, func(f *windows.Handle) error { return f.Rename(to, replace) })
	})
}

// remove removes a file.
func (h *hand) remove(path string) deed {
	return plain(func() error {
		how := windows.How{Access: windows.Rename, Share: windows.ShareAll, Disposition: windows.OpenOnly}
		return h.with(path, how, func(f *windows.Handle) error { return f.Remove() })
	})
}

// shows compares the names in a directory with those that have to be there, and must not be.
func (h *hand) shows(dir string, names []string, absent ...string) deed {
	return func(ctx context.Context) (string, error) {
		list, err := h.List(dir)
		for _, name := range names {
			if _, there := list[name]; err == nil && !there {
				err = fmt.Errorf("%s does not show %q, but %q", dir, name, keys(list))
			}
		}
		for _, name := range absent {
			if _, there := list[name]; err == nil && there {
				err = fmt.Errorf("%s shows %q", dir, name)
			}
		}
		return "it is shown", err
	}
}

func keys(list map[string]int64) (names []string) {
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// asks asks for all that the properties of a file show.
func (h *hand) asks(path string) deed {
	return func(ctx context.Context) (string, error) {
		how := windows.How{Access: windows.Attributes | windows.Security, Share: windows.ShareAll, Disposition: windows.OpenOnly}
		asked := 0
		err := h.with(path, how, func(f *windows.Handle) error {
			for kind, classes := range map[int][]int{
				windows.OfFile:     {4, 5, 6, 7, 18, 22, 34, 35}, // basic, standard, internal, EA, all, stream, network open, attribute tag
				windows.OfSystem:   {1, 3, 4, 5, 7},              // volume, size, device, attribute, full size
				windows.OfSecurity: {0},
			} {
				for _, class := range classes {
					parts := 0
					if kind == windows.OfSecurity {
						parts = 7 // owner, group and DACL
					}
					if _, err := f.Query(kind, class, parts); err != nil {
						return fmt.Errorf("information %d of kind %d: %w", class, kind, err)
					}
					asked++
				}
			}
			return nil
		})
		return fmt.Sprintf("%d questions, no error", asked), err
	}
}

// text is a content that nothing else has, of so many bytes.
func text(title string, bytes int) string {
	line := title + "\n"
	all := line
	for n := 0; len(all) < bytes; n++ {
		all += fmt.Sprintf("%s, line %d\n", title, n)
	}
	return all[:max(len(line), bytes)]
}
