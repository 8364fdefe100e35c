package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
)

func discardCommand() *cli.Command {
	return &cli.Command{
		Name:      "discard",
		Usage:     "forget uploads and their bytes for good",
		ArgsUsage: "MOUNTPOINT|PROFILE ID...",
		Description: "What was discarded is gone: uploads export saves the bytes first. An upload that is being sent\n" +
			"cannot be discarded.",
		Flags:        placeFlags(),
		OnUsageError: usageError,
		Action:       discardUploads,
	}
}

func discardUploads(c *cli.Context) error {
	if c.NArg() < 2 {
		return config.Usagef("uploads discard needs a MOUNTPOINT and the ID of each upload to forget")
	}
	dir, chosen, err := chosenUploads(c, func(*fs.UploadInfo) bool { return false })
	if err != nil {
		return err
	}
	return eachUpload(chosen, func(u *fs.UploadInfo) error {
		path, err := uploadFile(dir, u.ID)
		if err != nil {
			return err
		}
		err = os.Remove(path)
		switch {
		case errors.Is(err, syscall.EBUSY):
			return errors.New("it is being sent, or may be archived already; wait for its outcome")
		case err != nil:
			return fmt.Errorf("discard: %w", err)
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s  discarded  %s\n", u.ID, u.Path)
		return err
	})
}
