package user

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

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
			"The command waits until everything that the mount keeps is here. Ctrl-C ends the wait alone.\n" +
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
	mounts, err := markAll(c, xattr.KeepOn)
	if c.Bool("detach") {
		return err
	}
	all := []error{err}
	for _, dir := range mounts {
		all = append(all, awaitKept(c, dir))
	}
	return errors.Join(all...)
}

// markAll sets the attribute keep of all operands, and returns the mounts that they are in.
func markAll(c *cli.Context, value string) (mounts []string, err error) {
	if c.NArg() == 0 {
		return nil, config.Usagef("%s needs a PATH", c.Command.Name)
	}
	var failed []error
	for _, path := range c.Args().Slice() {
		dir, err := mark(path, value)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
		} else if !slices.Contains(mounts, dir) {
			mounts = append(mounts, dir)
		}
	}
	return mounts, errors.Join(failed...)
}

// mark sets the attribute keep of a file or directory, and returns the mount that it is in.
func mark(path, value string) (dir string, err error) {
	path, err = filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", plainError(err)
	}
	if dir, err = mounted.MountOf(path); err != nil {
		return "", err
	}
	if state := attribute(path, xattr.Prefix+"state"); value == xattr.KeepOn && slices.Contains([]string{"local", "pending", "failed"}, state) {
		return "", fmt.Errorf("it is not archived (%s), so it is here anyway; keep its folder, or the document later", state)
	}
	err = unix.Setxattr(path, xattr.Keep, []byte(value), 0)
	switch {
	case errors.Is(err, syscall.ENOTSUP):
		err = errors.New("only documents, and mandators, folders and inboxes with what is in them, can be kept; name each of these")
	case errors.Is(err, syscall.EROFS):
		err = errors.New("the mount is read-only; mount it once without that to say what is to be kept")
	case errors.Is(err, syscall.EPERM) && value == xattr.KeepOff:
		err = fmt.Errorf("it is kept with %s; free that", doctor.Quoted(keptAbove(dir, path)))
	case errors.Is(err, syscall.EBUSY):
		err = errors.New("the folder is not in the archive yet; keep it once it is")
	}
	return dir, err
}

// plainError is an error without the path and the operation, which stand before it.
func plainError(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// attribute returns an attribute of a file, empty if it has none.
func attribute(path, name string) string {
	value := make([]byte, 32)
	n, err := unix.Getxattr(path, name, value)
	if err != nil {
		return ""
	}
	return string(value[:n])
}

// keptAbove returns the directory, between dir and path, with which path is kept.
func keptAbove(dir, path string) string {
	for path != dir && attribute(path, xattr.Keep) != xattr.KeepOn {
		path = filepath.Dir(path)
	}
	return path
}

// awaitKept waits until everything that the mount at dir keeps is on this machine.
func awaitKept(c *cli.Context, dir string) error {
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
		case k == nil: // freed meanwhile
			return nil
		case k.State == fs.KeptComplete:
			_, err := fmt.Fprintf(c.App.Writer, "%s: %s\n", dir, keptInWords(k))
			return err
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

// keptInWords describes what is kept: "38 of 40 documents are here, 1.2 MiB; fetching".
func keptInWords(k *fs.KeptStatus) string {
	text := command.Doing(k.Documents, "document", "is", "are")
	if k.Missing > 0 {
		text = fmt.Sprintf("%d of %s", k.Documents-k.Missing, text)
	}
	text += " kept here, " + command.Size(k.Bytes)
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
	for _, path := range k.Paths {
		t.row("\t%s", path)
	}
	if k.Gone > 0 {
		t.row("\t%s no longer shown by the service", strings.TrimSpace(command.Doing(k.Gone, "other", "is", "are")))
	}
}
