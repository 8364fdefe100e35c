package user

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/xattr"
)

// KeepCommand is the command keep.
func KeepCommand() *cli.Command {
	return &cli.Command{
		Name:      "keep",
		Usage:     "keep documents on this machine, to read them without the service",
		ArgsUsage: "PATH...",
		Description: "Each PATH is a document, or a mandator, folder or inbox with everything in and below it. The\n" +
			"mount fetches the contents in the background, and again when they change. They stay until you\n" +
			"free them, beside --cache-size, and can be read while the service is away, also after a restart.\n\n" +
			"The command waits until everything that the mount keeps is here, and says how much each PATH\n" +
			"has. Ctrl-C ends the wait alone.\n" +
			"archivefs status shows what is kept, and what is missing.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "do not wait: the mount fetches the contents in the background"},
			windowFlag(),
		},
		Action: inWindow(keep),
	}
}

// FreeCommand is the command free.
func FreeCommand() *cli.Command {
	return &cli.Command{
		Name:      "free",
		Usage:     "keep documents no longer",
		ArgsUsage: "PATH...",
		Description: "Undoes archivefs keep, for the same PATH. The contents stay in the cache like all others, until\n" +
			"there is need of their room.",
		Flags: []cli.Flag{windowFlag()},
		Action: inWindow(func(c *cli.Context) error {
			_, err := markAll(c, xattr.KeepOff)
			return err
		}),
	}
}

func keep(c *cli.Context) error {
	marks, err := markAll(c, xattr.KeepOn)
	if c.Bool("detach") {
		return err
	}
	all := []error{err}
	for len(marks) > 0 {
		dir := marks[0].mount
		all = append(all, awaitKept(c, dir, slices.DeleteFunc(slices.Clone(marks), func(m marked) bool { return m.mount != dir })))
		marks = slices.DeleteFunc(marks, func(m marked) bool { return m.mount == dir })
	}
	return errors.Join(all...)
}

// marked is an operand whose attribute keep was set.
type marked struct {
	path  string // as the user wrote it
	mount string
	id    string
	isDir bool
}

// markAll sets the attribute keep of all operands.
func markAll(c *cli.Context, value string) (marks []marked, err error) {
	if c.NArg() == 0 {
		return nil, config.Usagef("%s needs a PATH", c.Command.Name)
	}
	var failed []error
	for _, path := range c.Args().Slice() {
		m, err := mark(path, value)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
			continue
		}
		marks = append(marks, m)
	}
	return marks, errors.Join(failed...)
}

// mark sets the attribute keep of a file or directory.
func mark(operand, value string) (m marked, err error) {
	path, err := filepath.EvalSymlinks(operand)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	if err != nil {
		return m, plainError(err)
	}
	m = marked{path: operand, id: mounted.Attribute(path, xattr.Prefix+"id"), isDir: info.IsDir()}
	if m.mount, err = mounted.MountOf(path); err != nil {
		return m, err
	}
	if state := mounted.Attribute(path, xattr.Prefix+"state"); value == xattr.KeepOn && slices.Contains([]string{"local", "pending", "failed"}, state) {
		return m, fmt.Errorf("it is not archived (%s), so it is here anyway; keep its folder, or the document later", state)
	}
	err = mounted.SetAttribute(path, xattr.Keep, value)
	switch {
	case errors.Is(err, syscall.ENOTSUP):
		err = errors.New("only documents, and mandators, folders and inboxes with what is in them, can be kept; name each of these")
	case errors.Is(err, syscall.EROFS):
		err = errors.New("the mount is read-only; mount it once without that to say what is to be kept")
	case errors.Is(err, syscall.EPERM) && value == xattr.KeepOff:
		err = fmt.Errorf("it is kept with %s; free that", doctor.Quoted(keptAbove(m.mount, path)))
	case errors.Is(err, syscall.EBUSY):
		err = errors.New("the folder is not in the archive yet; keep it once it is")
	}
	return m, err
}

// plainError is an error without the path and the operation, which stand before it.
func plainError(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// keptAbove returns the directory, between dir and path, with which path is kept.
func keptAbove(dir, path string) string {
	for path != dir && mounted.Attribute(path, xattr.Keep) != xattr.KeepOn {
		path = filepath.Dir(path)
	}
	return path
}

// awaitKept waits until everything that the mount at dir keeps is on this machine, and says how much of
// that is in each of these marks.
func awaitKept(c *cli.Context, dir string, marks []marked) error {
	bar := command.NewProgress(c.App.ErrWriter)
	defer bar.End()
	tick := time.NewTicker(command.ProgressEvery)
	defer tick.Stop()
	said := ""
	for {
		_, status, err := mounted.Status(dir)
		if err != nil {
			return err
		}
		k := status.Kept
		switch {
		case status.Partial:
			return fmt.Errorf("the mount fetches it in the background; only the user whose mount %s is sees when all is here", dir)
		case k == nil: // freed meanwhile
			return nil
		case k.State == fs.KeptComplete:
			return printKept(c, marks, k)
		case k.State == fs.KeptDisk, k.State == fs.KeptIncomplete:
			return fmt.Errorf("%s: %s", dir, keptInWords(k))
		case k.State == fs.KeptWaiting && said != k.Why:
			said = k.Why
			bar.End()
			command.Say(c.App.ErrWriter, "%s", k.Why)
		case k.State == fs.KeptFetching && bar != nil:
			bar.Show(&command.Backlog{What: "document", Uploads: k.Missing, Bytes: k.MissingBytes})
		}
		select {
		case <-tick.C:
		case <-c.Done():
			return fmt.Errorf("the mount fetches the rest in the background; archivefs status %s shows it", doctor.Quoted(dir))
		}
	}
}

// printKept says what is kept of each mark.
func printKept(c *cli.Context, marks []marked, k *fs.KeptStatus) error {
	for _, m := range marks {
		at := slices.IndexFunc(k.Marks, func(of fs.KeptMark) bool {
			return m.id == of.ID.String() && m.isDir != of.Document
		})
		if at < 0 {
			return fmt.Errorf("%s: it is kept, but the service does not show it any more", m.path)
		}
		if _, err := fmt.Fprintf(c.App.Writer, "%s: %s\n", m.path, countInWords(&k.Marks[at].Count)); err != nil {
			return err
		}
	}
	return nil
}

// countInWords describes how much is kept: "38 of 40 documents are kept here, 1.2 MiB".
func countInWords(n *fs.KeptCount) string {
	text := command.Doing(n.Documents, "document", "is", "are")
	switch {
	case n.Documents == 0:
		return "no document is there yet; those that come are kept"
	case n.Missing > 0:
		text = fmt.Sprintf("%d of %s", n.Documents-n.Missing, text)
	}
	return text + " kept here, " + command.Size(n.Bytes)
}

// keptInWords describes what is kept: "38 of 40 documents are kept here, 1.2 MiB; fetching".
func keptInWords(k *fs.KeptStatus) string {
	text := countInWords(&k.Count)
	if k.Documents == 0 && k.State != fs.KeptComplete {
		text = "no document is known yet"
	}
	if k.State != fs.KeptComplete {
		text += "; " + k.State
	}
	if k.State == fs.KeptFetching && k.MissingBytes > 0 {
		text += ", " + command.Size(k.MissingBytes) + " to go"
	}
	if k.Why != "" {
		text += ": " + k.Why
	}
	return text
}

// kept adds what is kept to the table.
func (t *statusTable) kept(k *fs.KeptStatus) {
	if k == nil {
		return
	}
	t.row("kept\t%s", keptInWords(k))
	for i := range k.Marks {
		t.row("\t%s: %s", k.Marks[i].Path, countInWords(&k.Marks[i].Count))
	}
	if k.Gone > 0 {
		t.row("\t%s no longer shown by the service", strings.TrimSpace(command.Doing(k.Gone, "other", "is", "are")))
	}
}
