package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

func retryCommand() *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "send failed uploads again",
		ArgsUsage: "MOUNTPOINT|PROFILE [ID...]",
		Description: "Without an ID all failed uploads are sent again, and what is pending is tried at once. What is\n" +
			"not whole, because its writer was killed, it could not be written or it lacks its end, is left\n" +
			"out and named: with its ID and --incomplete it is sent as it is. An empty file is never sent.\n\n" +
			"Waits for the outcome, unless the service does not answer, or may still be at what was sent to\n" +
			"it before: then they stay pending, for the reason that is told, and are sent by themselves.",
		Flags:        append([]cli.Flag{incompleteFlag()}, placeFlags()...),
		OnUsageError: usageError,
		Action:       retryUploads,
	}
}

func incompleteFlag() cli.Flag {
	return &cli.BoolFlag{Name: "incomplete", Usage: "send also what is not whole, as it is; needs the ID of each"}
}

func retryUploads(c *cli.Context) error {
	incomplete := c.Bool("incomplete")
	if incomplete && c.NArg() == 1 {
		return config.Usagef("uploads retry: --incomplete needs the ID of each upload that is to be sent as it is")
	}
	var leftOut []fs.UploadInfo
	all, err := chooseUploads(c, func(u *fs.UploadInfo) bool {
		switch {
		case u.State == fs.StateLocal:
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
	mounted := &mountedUploads{dir: all.dir}
	var sent []fs.UploadInfo
	err = all.each(func(u *fs.UploadInfo) error {
		if u.State == fs.StateLocal {
			return errors.New("it stays on this machine: under another name it is archived")
		}
		if u.Never != "" || u.Incomplete && !incomplete {
			return errors.New(notSent(u, all.dir))
		}
		err := mounted.retry(u)
		if err == nil {
			sent = append(sent, *u)
		}
		return err
	})
	err = errors.Join(err, awaitUploads(c, all.dir, sent))
	for i := range leftOut {
		u := &leftOut[i]
		_, werr := fmt.Fprintf(c.App.Writer, "%s  %s  left out: %s\n", u.ID, u.Path, notSent(u, all.dir))
		err = errors.Join(err, werr)
	}
	return err
}

// notSent says why an upload is not sent without more, and what can be done about it.
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

// retry tells the mount to send an upload, as it is where it is not whole.
func (m *mountedUploads) retry(u *fs.UploadInfo) error {
	path, err := m.file(u.ID)
	if err != nil {
		return err
	}
	value := "true"
	if u.Incomplete {
		value = xattr.RetryIncomplete
	}
	if err := unix.Setxattr(path, "user.archive.retry", []byte(value), 0); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	return nil
}

// awaitUploads prints what becomes of uploads, until each has an outcome or the service
// turns out to be away. It fails when one of them failed.
func awaitUploads(c *cli.Context, dir string, chosen []fs.UploadInfo) error {
	failed := 0
	for left := chosen; len(left) > 0; {
		_, status, err := readStatus(dir)
		if err != nil {
			return err
		}
		now := map[string]fs.UploadInfo{}
		for _, u := range status.Uploads.List {
			now[u.ID] = u
		}
		var waiting []fs.UploadInfo
		for _, u := range left {
			is, kept := now[u.ID]
			text := ""
			switch {
			case !kept:
				text = archivedInWords(dir, status.StateDir, &u)
			case is.State == "failed":
				text, failed = "failed: "+is.Error, failed+1
			case is.Waits:
				text = "pending: " + is.Error
			default:
				waiting = append(waiting, u)
				continue
			}
			if _, err := fmt.Fprintf(c.App.Writer, "%s  %s  %s\n", u.ID, u.Path, text); err != nil {
				return err
			}
		}
		left = waiting
		if len(left) > 0 && pause(c.Context) != nil {
			return fmt.Errorf("%s still to be archived, in the background; archivefs uploads list %s shows what is left", plural(len(left), "upload"), doctor.Quoted(dir))
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s failed again; the reasons are above", plural(failed, "upload"))
	}
	return nil
}

// archivedInWords says that the archive has an upload, and its name there where that is known to be
// another one: while it was not there a document may have taken its name.
func archivedInWords(dir, state string, u *fs.UploadInfo) string {
	const text = "archived"
	id, err := spool.ReceiptOf(receiptsOf(state), u.ID)
	if err != nil || id == 0 {
		return text
	}
	link, err := os.Readlink(filepath.Join(dir, ".archivefs", "by-id", strconv.FormatInt(int64(id), 10)))
	path, shown := strings.CutPrefix(link, "../../")
	if path = archive.Printable(path); err != nil || !shown || path == u.Path {
		return text
	}
	return text + " as " + path
}
