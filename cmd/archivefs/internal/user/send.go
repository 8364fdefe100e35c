package user

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

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
	path, err := filepath.EvalSymlinks(operand)
	if err == nil {
		path, err = filepath.Abs(path)
	}
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
		case is.State == "failed":
			became[u.ID] = outcome{text: "failed: " + is.Error}
		case is.State == fs.StateLocal:
			became[u.ID] = outcome{text: "local: " + is.Error}
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

// archivedInWords says that an upload has become the document id (0: not known), and its new name, if
// another document took its name in the meantime. By its id it has another path as long as its folder does
// not show it.
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
