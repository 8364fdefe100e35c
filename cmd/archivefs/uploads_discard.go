package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
)

func discardCommand() *cli.Command {
	return &cli.Command{
		Name:      "discard",
		Usage:     "forget uploads and their bytes for good",
		ArgsUsage: uploadOperand + " ID...",
		Description: "What was discarded is gone: uploads export saves the bytes first. An upload that is being sent\n" +
			"cannot be discarded.\n\n" + ofStateDir,
		Flags:        placeFlags(),
		OnUsageError: usageError,
		Action:       discardUploads,
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
