package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
)

func retryCommand() *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "send failed uploads again",
		ArgsUsage: "MOUNTPOINT|PROFILE [ID...]",
		Description: "Without an ID all failed uploads are sent again, and what is pending is tried at once. Waits for\n" +
			"the outcome, unless the service does not answer: then they stay pending and are archived when it\n" +
			"does.",
		Flags:        placeFlags(),
		OnUsageError: usageError,
		Action:       retryUploads,
	}
}

func retryUploads(c *cli.Context) error {
	all, err := chooseUploads(c, func(*fs.UploadInfo) bool { return true })
	if err != nil {
		return err
	}
	mounted := &mountedUploads{dir: all.dir}
	err = all.each(func(u *fs.UploadInfo) error { return mounted.retry(u.ID) })
	return errors.Join(err, awaitUploads(c, all.dir, all.uploads))
}

// retry tells the mount to send an upload.
func (m *mountedUploads) retry(id string) error {
	path, err := m.file(id)
	if err != nil {
		return err
	}
	if err := unix.Setxattr(path, "user.archive.retry", []byte("true"), 0); err != nil {
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
				text = "archived"
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
