package user

import (
	"cmp"
	"errors"
	"fmt"
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
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
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
		m, err := attended(c, path, value)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
			continue
		}
		marks = append(marks, m)
	}
	return marks, errors.Join(failed...)
}

// silentService is said once the service has not answered for longSilence.
const silentService = "waiting for the service, which does not answer; Ctrl-C ends the wait"

// attended is mark, which may wait for the service, unless Ctrl-C ends the wait.
func attended(c *cli.Context, path, value string) (marked, error) {
	said := time.AfterFunc(longSilence, func() { command.Say(c.App.ErrWriter, silentService) })
	defer said.Stop()
	var m marked
	done := make(chan error, 1)
	go func() {
		made, err := mark(path, value)
		m = made
		done <- err
	}()
	select {
	case err := <-done:
		return m, err
	case <-c.Done():
		return marked{}, errors.New("interrupted while the mount waited for the service")
	}
}

// mark sets the attribute keep of a file or directory.
func mark(operand, value string) (m marked, err error) {
	path, err := behindLinks(operand)
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

// behindLinks is the path of what an operand names.
func behindLinks(operand string) (string, error) {
	path, err := filepath.EvalSymlinks(operand)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
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
		case k.State != fs.KeptWaiting && said == "" && silence(status.Requests) > 0:
			said = silentService
			bar.End()
			command.Say(c.App.ErrWriter, silentService)
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

// sendCommand is the command uploads send.
func sendCommand() *cli.Command {
	return &cli.Command{
		Name:      "send",
		Usage:     "send what was just written, before its time of grace is over",
		ArgsUsage: "[PATH...]",
		Description: "Each PATH is a file that waits (mount --grace), a folder with everything in and below it, or\n" +
			"the mount point. Without one, everything that waits in your mounts is sent. It cannot be\n" +
			"renamed, moved or removed any longer. The command waits for the outcome and prints it. Exit\n" +
			"status 1 says that something is not archived: it is open in a program, failed, stays on this\n" +
			"machine, or waits for the service.",
		Action: sendUploads,
	}
}

func sendUploads(c *cli.Context) error {
	paths := c.Args().Slice()
	if len(paths) == 0 {
		if paths = mounted.Own(); len(paths) == 0 {
			command.Say(c.App.ErrWriter, "you have no archive mounted")
		}
	}
	var all []error
	for _, path := range paths {
		if err := sendBelow(c, path); err != nil {
			all = append(all, fmt.Errorf("%s: %w", path, plainError(err)))
		}
	}
	return errors.Join(all...)
}

// sendBelow sends what waits at a path and below it.
func sendBelow(c *cli.Context, operand string) error {
	path, err := behindLinks(operand)
	if err != nil {
		return err
	}
	dir, err := mounted.MountOf(path)
	if err != nil {
		return err
	}
	status, err := mounted.UploadsStatus(dir)
	if err != nil {
		return err
	}
	became := outcomesAt(dir, status.StateDir)
	if err := mounted.SetAttribute(path, xattr.Send, "1"); err != nil {
		return err
	}
	inside := archive.Printable(strings.TrimPrefix(strings.TrimPrefix(path, dir), "/"))
	below := slices.DeleteFunc(status.Uploads.All(), func(u fs.UploadInfo) bool {
		return u.Path != inside && inside != "" && !strings.HasPrefix(u.Path, inside+"/")
	})
	switch {
	case len(below) > 0:
		return became.await(c, archive.Printable(strings.TrimSuffix(dir, "/"))+"/", below)
	case mounted.Attribute(path, xattr.Prefix+"state") == fs.StateLocal:
		return errors.New("local: " + spool.ErrEmpty.Error())
	}
	command.Say(c.App.ErrWriter, "%s: nothing waits to be archived", operand)
	return nil
}

// outcomes tell what becomes of uploads of the mount at dir.
type outcomes struct {
	dir, receipts string
	began         time.Time
	// since is how long the receipts were then.
	since int64
	// missed are the uploads that the mount did not have any more when it was asked last, and of which
	// there was no receipt.
	missed map[string]bool
}

// outcomesAt begins before anything is sent. state is the state directory of the mount.
func outcomesAt(dir, state string) *outcomes {
	o := &outcomes{dir: dir, receipts: mounted.ReceiptsOf(state), began: time.Now(), missed: map[string]bool{}}
	if info, err := os.Stat(o.receipts); err == nil { // else the first receipt makes it
		o.since = info.Size()
	}
	return o
}

// await prints what becomes of uploads, with root before their paths, until each has an outcome or turns
// out to wait for the service or for a program. It returns an error if one is not archived.
func (o *outcomes) await(c *cli.Context, root string, left []fs.UploadInfo) error {
	missing := 0
	for len(left) > 0 {
		_, status, err := mounted.Status(o.dir)
		if err != nil {
			return err
		}
		became, err := o.of(status, left)
		if err != nil {
			return err
		}
		var waiting []fs.UploadInfo
		for _, u := range left {
			is, ok := became[u.ID]
			if !ok {
				waiting = append(waiting, u)
				continue
			}
			if !is.archived {
				missing++
			}
			if _, err := fmt.Fprintf(c.App.Writer, "%s  %s%s  %s\n", u.ID, root, u.Path, is.text); err != nil {
				return err
			}
		}
		left = waiting
		if len(left) > 0 && command.Pause(c.Context) != nil {
			return fmt.Errorf("%s still to be archived, in the background; archivefs uploads list %s shows what is left", command.Plural(len(left), "upload"), doctor.Quoted(o.dir))
		}
	}
	if missing > 0 {
		return fmt.Errorf("%s not archived; the reasons are above", command.Doing(missing, "upload", "is", "are"))
	}
	return nil
}

// outcome is what became of an upload.
type outcome struct {
	text     string
	archived bool
}

// openFor is how long a file is open until a program is taken to go on with it: the kernel tells a mount of
// the end of a descriptor only after close has returned.
const openFor = time.Second

// of returns the outcomes of those uploads that have one, by their ids.
func (o *outcomes) of(status *fs.Status, left []fs.UploadInfo) (map[string]outcome, error) {
	now := map[string]fs.UploadInfo{}
	waits := false
	for _, u := range status.Uploads.All() {
		now[u.ID] = u
		waits = waits || u.Waits
	}
	idle := status.Uploads.Sending == 0
	away := idle && waits && status.Health == fs.HealthAway // nothing else is tried before the service is back
	became := map[string]outcome{}
	var gone []fs.UploadInfo
	for _, u := range left {
		is, known := now[u.ID]
		switch {
		case !known:
			gone = append(gone, u)
		case is.State == "failed", is.State == fs.StateLocal:
			became[u.ID] = outcome{text: is.State + ": " + is.Error}
		case is.Open:
			if time.Since(o.began) > openFor {
				became[u.ID] = outcome{text: "open in a program"}
			}
		case is.Waits:
			became[u.ID] = outcome{text: "pending: " + is.Error}
		case away:
			became[u.ID] = outcome{text: "pending: " + cmp.Or(is.Error, mounted.AwayInWords(status.Cure != ""))}
		}
	}
	return became, o.ofGone(became, gone, idle)
}

// ofGone adds the outcomes of uploads that the mount does not have any more. Each that is archived has a
// receipt when the request which sends it has ended. idle says that the mount sent none when it was asked.
func (o *outcomes) ofGone(became map[string]outcome, gone []fs.UploadInfo, idle bool) error {
	if len(gone) == 0 {
		return nil
	}
	documents, err := spool.ReceiptsSince(o.receipts, o.since)
	if err != nil {
		return err
	}
	for i := range gone {
		u := &gone[i]
		id, archived := documents[u.ID]
		switch {
		case archived:
			became[u.ID] = outcome{archivedInWords(o.dir, u, id), true}
		case u.Directory && mounted.Attribute(filepath.Join(o.dir, u.Path), xattr.Prefix+"id") != "":
			became[u.ID] = outcome{"archived", true}
		case idle && o.missed[u.ID]:
			became[u.ID] = outcome{text: "not sent: it was removed, or written again, meanwhile"}
		}
		o.missed[u.ID] = true
	}
	return nil
}

// archivedInWords says that an upload has become the document id (0: not known), and its new name, if another document
// took its name in the meantime. By its id it has another path as long as its folder does not show it.
func archivedInWords(dir string, u *fs.UploadInfo, id archive.ID) string {
	text := "archived"
	if u.Inbox {
		text = "stored in the inbox"
	}
	link, err := os.Readlink(filepath.Join(dir, ".archivefs", "by-id", id.String()))
	path, shown := strings.CutPrefix(link, "../../")
	if path = archive.Printable(path); err != nil || !shown || path == u.Path || strings.HasPrefix(path, ".archivefs/") {
		return text
	}
	return text + " as " + path
}
