package user

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

// uploadOperand is the operand that names a place with uploads.
const uploadOperand = "MOUNTPOINT|PROFILE|STATEDIR"

// ofStateDir explains the operand STATEDIR.
const ofStateDir = "STATEDIR is the state directory of a mount that has ended, as archivefs doctor names it: what\n" +
	"waits there is reached also when the service does not take the credentials any more."

// ofLocal explains the files in the state local.
const ofLocal = "Files that hold something and stay on this machine, because their names are temporary ones, are\n" +
	"listed, too, in the state local.\n\n"

// UploadsCommand is the command uploads, with those below it.
func UploadsCommand() *cli.Command {
	return &cli.Command{
		Name:  "uploads",
		Usage: "see and decide about what the archive does not have yet, or could not take",
		Subcommands: []*cli.Command{
			{
				Name:        "list",
				Usage:       "a line for each pending or failed upload and local file, its id first",
				ArgsUsage:   uploadOperand,
				Description: ofLocal + "A file in the state open is being written by a program.\n\n" + ofStateDir,
				Flags:       append([]cli.Flag{command.JSONFlag()}, settings.PlaceFlags()...),
				Action:      listUploads,
			},
			showCommand(), sendCommand(), RetryCommand(), discardCommand(), ExportCommand(),
		},
	}
}

// listUploads prints the uploads of a mount, or of a state directory that is not in use. A mount
// shows the bytes of each as .archivefs/uploads/ID NAME.
func listUploads(c *cli.Context) (err error) {
	if err := settings.OneOperand(c); err != nil {
		return err
	}
	_, place, err := UploadsAt(c, c.Args().First())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	list := place.List()
	if c.Bool("json") {
		return command.PrintJSON(c, list)
	}
	if len(list) == 0 {
		command.Say(c.App.ErrWriter, "nothing waits to be archived")
	}
	var rows [][]string
	for _, u := range list {
		rows = append(rows, []string{u.ID, u.State, u.Changed.Local().Format(time.DateTime), command.Size(u.Size), u.Path, u.Error})
	}
	return command.PrintTable(c.App.Writer, rows)
}

// chosen are the uploads that the user named, and their place.
type chosen struct {
	dir     string
	place   uploadPlace
	uploads []fs.UploadInfo
}

// chooseUploads reads the operands of a command, the place and [ID...], and returns those uploads,
// or all that match if no id is given. An unknown id is an error. The caller closes the place.
func chooseUploads(c *cli.Context, fits func(*fs.UploadInfo) bool) (*chosen, error) {
	if c.NArg() == 0 {
		return nil, config.Usagef("uploads %s needs a MOUNTPOINT", c.Command.Name)
	}
	dir, place, err := UploadsAt(c, c.Args().First())
	if err != nil {
		return nil, err
	}
	all := &chosen{dir: dir, place: place}
	known := map[string]fs.UploadInfo{}
	for _, u := range place.List() {
		if u.State == fs.StateOpen {
			continue // its program decides
		}
		known[u.ID] = u
		if c.NArg() == 1 && fits(&u) {
			all.uploads = append(all.uploads, u)
		}
	}
	for _, id := range c.Args().Tail() {
		u, ok := known[id]
		if !ok {
			none := fmt.Errorf("there is no upload %q that is pending or failed; archivefs uploads list %s shows them", id, doctor.Quoted(dir))
			return nil, errors.Join(none, place.Close())
		}
		all.uploads = append(all.uploads, u)
	}
	return all, nil
}

// each calls do for the uploads, continues after an error, and closes the place.
func (all *chosen) each(do func(*fs.UploadInfo) error) error {
	var failed []error
	for i := range all.uploads {
		u := &all.uploads[i]
		if err := do(u); err != nil {
			failed = append(failed, fmt.Errorf("%s (%s): %w", u.Path, u.ID, err))
		}
	}
	return errors.Join(append(failed, all.place.Close())...)
}

// RetryCommand is the command uploads retry.
func RetryCommand() *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "send failed uploads again",
		ArgsUsage: "MOUNTPOINT|PROFILE [ID...]",
		Description: "Without an ID it retries what failed, or waits for the service, and leaves what has a time of\n" +
			"grace alone. It leaves out, and names, incomplete files: the writer was killed, a write failed,\n" +
			"or the end is missing. With its ID and --incomplete such a file is sent as it is. An empty\n" +
			"file is never sent.\n\n" +
			"The command waits for the outcome, unless the service does not answer, or may still be busy with\n" +
			"an earlier attempt: then the uploads stay pending, with the reason, and are retried. Exit status\n" +
			"1 says that not all of them are archived, or that all were left out.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "incomplete", Usage: "send incomplete files, too, as they are; needs their IDs"},
		}, settings.PlaceFlags()...),
		Action: retryUploads,
	}
}

func retryUploads(c *cli.Context) error {
	incomplete := c.Bool("incomplete")
	if incomplete && c.NArg() == 1 {
		return config.Usagef("uploads retry: --incomplete needs the ID of each upload that is to be sent as it is")
	}
	var leftOut []fs.UploadInfo
	all, err := chooseUploads(c, func(u *fs.UploadInfo) bool {
		switch {
		case u.State == fs.StateLocal, u.Rests:
			return false
		case u.Incomplete || u.Never != "":
			leftOut = append(leftOut, *u)
			return false
		}
		return true
	})
	if err != nil {
		return err
	}
	mount := all.place.(*mountedUploads) // UploadsAt refuses others
	became := outcomesAt(all.dir, mount.state)
	var sent []fs.UploadInfo
	err = all.each(func(u *fs.UploadInfo) error {
		if u.State == fs.StateLocal {
			return errors.New("it stays on this machine: under another name it is archived")
		}
		if u.Never != "" || u.Incomplete && !incomplete {
			return errors.New(notSent(u, all.dir))
		}
		err := mount.Retry(u)
		if err == nil {
			sent = append(sent, *u)
		}
		return err
	})
	err = errors.Join(err, became.await(c, "", sent))
	for i := range leftOut {
		u := &leftOut[i]
		_, werr := fmt.Fprintf(c.App.Writer, "%s  %s  left out: %s\n", u.ID, u.Path, notSent(u, all.dir))
		err = errors.Join(err, werr)
	}
	if len(leftOut) > 0 && len(all.uploads) == 0 {
		err = errors.Join(err, fmt.Errorf("nothing was sent: %s left out; the reasons are above", command.Doing(len(leftOut), "upload", "is", "are")))
	}
	return err
}

// notSent says why an upload is not sent automatically, and what the user can do.
func notSent(u *fs.UploadInfo, dir string) string {
	why, command, does := u.Error, "retry --incomplete", "sends it as it is"
	if u.Never != "" {
		why, command, does = u.Error+"; "+u.Never, "export", "saves it"
		if u.Size == 0 {
			command, does = "discard", "forgets it"
		}
	}
	return fmt.Sprintf("%s; archivefs uploads %s %s %s %s", why, command, doctor.Quoted(dir), u.ID, does)
}

// Retry tells the mount to send an upload, even an incomplete one.
func (m *mountedUploads) Retry(u *fs.UploadInfo) error {
	path, err := m.file(u.ID)
	if err != nil {
		return err
	}
	value := "true"
	if u.Incomplete {
		value = xattr.RetryIncomplete
	}
	err = mounted.SetAttribute(path, "user.archive.retry", value)
	switch {
	case errors.Is(err, syscall.EBUSY):
		return errors.New("it is being sent")
	case err != nil:
		return fmt.Errorf("retry: %w", err)
	}
	return nil
}

// ExportCommand is the command uploads export.
func ExportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "copy the bytes of uploads out of the mount",
		ArgsUsage: uploadOperand + " [ID...]",
		Description: "Writes the files below the current directory, in the same folders as in the mount. It never\n" +
			"overwrites a file. Without an ID it exports all that uploads list shows. The uploads themselves\n" +
			"are kept.\n\n" + ofStateDir,
		Flags:  settings.PlaceFlags(),
		Action: exportUploads,
	}
}

func exportUploads(c *cli.Context) error {
	all, err := chooseUploads(c, func(u *fs.UploadInfo) bool { return !u.Directory })
	if err != nil {
		return err
	}
	if len(all.uploads) > 0 {
		if err := mayExport(all.dir); err != nil {
			return errors.Join(err, all.place.Close())
		}
	}
	return all.each(func(u *fs.UploadInfo) error {
		target, err := exportUpload(all.place, u)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s  %s\n", u.ID, archive.Printable(target))
		return err
	})
}

// mayExport checks once whether files can be written below the current directory. It tries with a
// temporary name, which stays local in an archive.
func mayExport(from string) error {
	f, err := os.CreateTemp(".", ".archivefs-*.part")
	if err == nil {
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
	here, gone := os.Getwd()
	if gone != nil {
		here = os.Getenv("PWD")
	}
	if why, ok := errors.AsType[*os.PathError](err); ok {
		err = why.Err
	}
	return fmt.Errorf("nothing was exported, because nothing can be written to the current directory, %s (%w); call it in another one, as in cd DIR && archivefs uploads export %s",
		archive.Printable(here), err, doctor.Quoted(from))
}

// exportUpload copies an upload to its path below the current directory, or next to an existing
// file, and returns the path. The copy is durable.
func exportUpload(place uploadPlace, u *fs.UploadInfo) (target string, err error) {
	if u.Directory {
		return "", errors.New("it is a folder, and has no bytes")
	}
	in, name, modified, err := place.Open(u.ID)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // read only
	_, name, _ = strings.Cut(name, " ")
	// Printable paths are relative and have no empty or dot components, whatever a folder is called.
	folder := filepath.Join(".", filepath.Clean("/"+filepath.Dir(u.Path)))
	if err := durable.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	out, err := createBeside(folder, name)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(out.Name()))
	}
	_ = os.Chtimes(out.Name(), modified, modified) // only the bytes matter
	return out.Name(), durable.SyncDir(folder)
}

// createBeside creates a file of that name, or with a number if the name exists.
func createBeside(folder, name string) (*os.File, error) {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 1; ; n++ {
		path := filepath.Join(folder, name)
		if n > 1 {
			path = filepath.Join(folder, fmt.Sprintf("%s (%d)%s", stem, n, ext))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // below the current directory
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}

func discardCommand() *cli.Command {
	return &cli.Command{
		Name:      "discard",
		Usage:     "forget uploads and their bytes for good",
		ArgsUsage: uploadOperand + " ID...",
		Description: "The bytes of a discarded upload are deleted; save them before with uploads export. An upload in\n" +
			"flight cannot be discarded.\n\n" + ofStateDir,
		Flags:  settings.PlaceFlags(),
		Action: discardUploads,
	}
}

func discardUploads(c *cli.Context) error {
	if c.NArg() < 2 {
		return config.Usagef("uploads discard needs a MOUNTPOINT and the ID of each upload to forget")
	}
	all, err := chooseUploads(c, func(*fs.UploadInfo) bool { return false })
	if err != nil {
		return err
	}
	return all.each(func(u *fs.UploadInfo) error {
		if err := all.place.Discard(u.ID); err != nil {
			return fmt.Errorf("discard: %w", err)
		}
		_, err := fmt.Fprintf(c.App.Writer, "%s  discarded  %s\n", u.ID, u.Path)
		return err
	})
}

// uploadPlace is a place with uploads: a mount, or the state directory of an ended one.
type uploadPlace interface {
	List() []fs.UploadInfo
	// Open opens the bytes of an upload. name is its ID and file name.
	Open(id string) (bytes io.ReadSeekCloser, name string, modified time.Time, err error)
	Discard(id string) error
	Close() error
}

// UploadsAt opens the place that an operand names, MOUNTPOINT|PROFILE|STATEDIR. The caller closes it.
func UploadsAt(c *cli.Context, operand string) (dir string, place uploadPlace, err error) {
	if dir, err = settings.MountpointAt(c, operand); err != nil {
		return "", nil, err
	}
	status, err := mounted.UploadsStatus(dir)
	if err == nil {
		list := status.Uploads.All()
		slices.SortFunc(list, func(a, b fs.UploadInfo) int { return strings.Compare(a.ID, b.ID) })
		return dir, &mountedUploads{dir: dir, state: status.StateDir, list: list}, nil
	}
	if _, none := config.BoundTo(dir); none != nil {
		return "", nil, err
	}
	if c.Command.Name == RetryCommand().Name {
		return "", nil, fmt.Errorf("%s is a state directory, and only a mount sends what waits in it: mount again with the credentials of then, "+
			"or save it with archivefs uploads export %s", dir, doctor.Quoted(dir))
	}
	place, err = openKept(dir, "archivefs uploads "+c.Command.Name)
	return dir, place, err
}

// mountedUploads are the uploads of a mount, read from its control directory, and its open and local files, oldest first.
type mountedUploads struct {
	dir, state string
	list       []fs.UploadInfo
}

func (m *mountedUploads) List() []fs.UploadInfo { return m.list }

func (m *mountedUploads) Open(id string) (bytes io.ReadSeekCloser, name string, modified time.Time, err error) {
	path, err := m.file(id)
	if err != nil {
		return nil, "", time.Time{}, err
	}
	f, err := os.Open(path) //nolint:gosec // in the mount
	if err != nil {
		return nil, "", time.Time{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, "", time.Time{}, errors.Join(err, f.Close())
	}
	return f, filepath.Base(path), info.ModTime(), nil
}

func (m *mountedUploads) Discard(id string) error {
	path, err := m.file(id)
	if err != nil {
		return err
	}
	err = os.Remove(path)
	if errors.Is(err, syscall.EBUSY) {
		return errors.New("it is being sent, or may be archived already; wait for its outcome")
	}
	return err
}

func (m *mountedUploads) Close() error { return nil }

// file finds the file of an upload in the control directory.
func (m *mountedUploads) file(id string) (string, error) {
	uploads := filepath.Join(m.dir, ".archivefs", "uploads")
	entries, err := os.ReadDir(uploads)
	if err != nil {
		return "", fmt.Errorf("read the uploads: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), id+" ") {
			return filepath.Join(uploads, e.Name()), nil
		}
	}
	if name, err := os.Readlink(filepath.Join(uploads, id)); err == nil { // a local file
		return filepath.Join(uploads, name), nil
	}
	return "", fmt.Errorf("upload %s has no file: %w", id, os.ErrNotExist)
}

// keptUploads are the uploads in a state directory, which is locked until Close.
type keptUploads struct {
	fs.Kept
	dirs *config.Dirs
}

// openKept opens and locks a state directory.
func openKept(dir, command string) (*keptUploads, error) {
	dirs, err := config.OpenBound(dir, command)
	var used *config.InUseError
	switch {
	case errors.As(err, &used) && used.Mountpoint != "" && !used.Ending:
		return nil, fmt.Errorf("%s is in use by the mount at %s%s: name that in its place, or try again when its process has ended", dir, used.Mountpoint, used.Process())
	case errors.As(err, &used) && used.Command == "":
		return nil, fmt.Errorf("%s is in use by a mount that begins%s: try again", dir, used.Process())
	case err != nil:
		return nil, err
	}
	s, err := spool.Open(spool.Options{Dir: mounted.SpoolOf(dir), Boot: mounted.MachineRun(), JournalSize: mounted.JournalSize()})
	if err != nil {
		return nil, errors.Join(err, dirs.Close())
	}
	return &keptUploads{Kept: fs.Kept{Spool: s}, dirs: dirs}, nil
}

func (k *keptUploads) Close() error { return errors.Join(k.Spool.Close(), k.dirs.Close()) }
