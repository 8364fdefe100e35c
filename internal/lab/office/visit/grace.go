//go:build linux

package visit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/windows"
)

// grace is a visit that tries what a time of grace is good for.
type grace struct{ *visit }

// graced visits a machine whose mount has a time of grace that no step outlasts, and one whose mount has
// none.
func graced(ctx context.Context, a *host.Archive, log func(format string, args ...any)) (all []Chapter, err error) {
	for _, length := range []string{"1m", "0"} {
		chapters, err := underGrace(ctx, a, length, log)
		if err != nil {
			return nil, err
		}
		all = append(all, chapters...)
	}
	return all, nil
}

// underGrace visits a machine whose mount has a time of grace of that length.
func underGrace(ctx context.Context, a *host.Archive, length string, log func(format string, args ...any)) (chapters []Chapter, err error) {
	h, err := host.Export(ctx, a, host.Options{Name: "grace-" + length, Mount: "--grace " + length, Wire: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	v, err := arrive(ctx, h, log)
	if err != nil {
		return nil, err
	}
	if v.pc, err = connect(ctx, h, ""); err != nil {
		return nil, err
	}
	defer v.pc.Close() //nolint:errcheck // it ends with this process at the latest
	v.chapter(fmt.Sprintf("What a time of grace is good for (--grace %s)", length))
	if length == "0" {
		grace{v}.without()
	} else {
		grace{v}.with()
	}
	return v.run(ctx), nil
}

// arrived is how much of a file has arrived before its client vanishes.
const arrived = 2 * windows.Piece

// unwritten is why a file of an announced length fails.
func unwritten(content string) string {
	return fmt.Sprintf("announced %d bytes, the last %d were never written", len(content), len(content)-arrived)
}

// with is what is done, and done otherwise, before it is final. The service is asked when the time has ended.
func (v grace) with() {
	pc := v.pc
	fresh, named, filled := letters+"New folder", letters+"Reminders", letters+"Reminders of 2026"
	v.step("New folder, and then its name", "the archive has the folder when its time of grace has ended, under its name alone",
		pc.newFolder(fresh), v.lacks(fresh), pc.rename(fresh, named, false), v.lacks(named), pc.shows(letters, []string{"Reminders"}, "New folder"),
		v.sends, v.has(named), v.lacks(fresh))
	v.step("New folder, its name, and a file in it", "the archive has both, and no other folder", pc.newFolder(fresh), pc.rename(fresh, filled, false),
		pc.copyIn(filled+"/In it.txt", "Of 2026.\n"), v.sends, v.is(filled+"/In it.txt", "Of 2026.\n"), v.lacks(fresh))
	v.step("New folder, and delete it", "the archive never has it", pc.newFolder(fresh), pc.remove(fresh), pc.shows(letters, nil, "New folder"), v.sends, v.lacks(fresh))
	table := text("Announced, with grace", 300<<10)
	v.step("A client vanishes while it copies a file whose length it has announced", "nothing is archived; it is among the uploads that failed",
		v.vanishes(letters+"Announced.csv", table, true), v.listed("pending", letters+"Announced.csv"), v.sends, v.fails(letters+"Announced.csv", unwritten(table)), v.stays)
	v.step("It comes back, and copies it again", "the archive has it once, whole", pc.write(letters+"Announced.csv", table), v.sends, v.becomes(letters+"Announced.csv", table))
	other := text("Not announced, with grace", 300<<10)
	v.step("A client vanishes while it copies a file whose length it has not announced, comes back within the time of grace, and copies it again", "the archive has it once, whole",
		v.vanishes(letters+"Not announced.csv", other, false), v.listed("pending", letters+"Not announced.csv"), v.stays,
		pc.closed(pc.write(letters+"Not announced.csv", other)), v.sends, v.becomes(letters+"Not announced.csv", other))
}

// without is what is done where everything is final at once.
func (v grace) without() {
	pc := v.pc
	fresh, named := letters+"New folder", letters+"Reminders at once"
	v.step("New folder, and then its name", "the archive has the folder at once; to name it, and to delete it, is refused",
		pc.newFolder(fresh), v.has(fresh), refused(pc.rename(fresh, named, false), denied), refused(pc.remove(fresh), denied), v.has(fresh), v.lacks(named))
	away := text("The service is away, without grace", 100<<10)
	v.step("Drag a file into a folder while the service is away", "an error; the file is among the uploads that failed, and a retry archives it once",
		v.serviceGone, pc.fails(letters+"Away at once.txt", away), v.listed("failed", letters+"Away at once.txt"), v.serviceBack, v.retried(letters+"Away at once.txt"), v.becomes(letters+"Away at once.txt", away))
	table := text("Announced, without grace", 300<<10)
	v.step("A client vanishes while it copies a file whose length it has announced", "nothing is archived; it is among the uploads that failed",
		v.vanishes(letters+"Announced at once.csv", table, true), v.fails(letters+"Announced at once.csv", unwritten(table)), v.stays)
	other := text("Not announced, without grace", 300<<10)
	v.step("A client vanishes while it copies a file whose length it has not announced", "what has arrived is archived, because nobody can know that more was to come",
		v.vanishes(letters+"Not announced at once.csv", other, false), v.becomes(letters+"Not announced at once.csv", other[:arrived]))
}

// vanishes copies a file by a client of its own, whose connection is reset in the middle of a write.
func (v grace) vanishes(path, content string, announced bool) deed {
	return func(ctx context.Context) (string, error) {
		c, err := connect(ctx, v.host, "")
		if err != nil {
			return "", err
		}
		defer c.Close() //nolint:errcheck // it has no connection any more
		f, err := c.Open(path, windows.How{Access: windows.Read | windows.Write | windows.Delete, Options: windows.File, Disposition: windows.Create})
		if err == nil && announced {
			err = f.SetSize(int64(len(content)))
		}
		if err == nil {
			err = f.Vanish([]byte(content), arrived)
		}
		return fmt.Sprintf("%d of %d bytes had arrived", arrived, len(content)), err
	}
}

// closed does a deed as soon as Samba has closed what a client that vanished had open.
func (h *hand) closed(do deed) deed {
	return func(ctx context.Context) (seen string, err error) {
		var other error
		err = host.Until(ctx, "an end of the sharing violation", func() (bool, error) {
			seen, other = do(ctx)
			return !errors.Is(other, sharing), other
		})
		return seen, errors.Join(err, other)
	}
}

// sends ends the time of grace of everything.
func (v grace) sends(ctx context.Context) (string, error) { return "", v.host.Send(ctx) }

// fails waits for a file among the uploads that failed, for a reason.
func (v grace) fails(path, reason string) deed {
	return func(ctx context.Context) (string, error) {
		u, err := v.upload(ctx, "failed", path)
		if err == nil && !strings.Contains(u.Error, reason) {
			err = fmt.Errorf("it failed because %q", u.Error)
		}
		return "it failed: " + reason, err
	}
}

// has waits for a folder of the archive.
func (v grace) has(folder string) deed {
	return func(ctx context.Context) (string, error) {
		return "the archive has the folder", host.Until(ctx, folder, func() (bool, error) { return v.host.Has(ctx, folder), nil })
	}
}

// lacks says that the archive has no such folder.
func (v grace) lacks(folder string) deed {
	return func(ctx context.Context) (string, error) {
		if v.host.Has(ctx, folder) {
			return "", fmt.Errorf("the archive has the folder %s", folder)
		}
		return "", nil
	}
}
