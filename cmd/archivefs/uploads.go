package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

func uploadsCommand() *cli.Command {
	return &cli.Command{
		Name:            "uploads",
		Usage:           "see and decide about what the archive does not have yet, or could not take",
		HideHelpCommand: true, // arrange knows help
		OnUsageError:    usageError,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return noCommand([]string{"uploads"}, c.Args().First(), c.Command.Subcommands)
			}
			return cli.ShowSubcommandHelp(c)
		},
		Subcommands: []*cli.Command{
			{
				Name:         "list",
				Usage:        "a line for each pending or failed upload, its id first",
				ArgsUsage:    "MOUNTPOINT|PROFILE",
				Flags:        append([]cli.Flag{jsonFlag()}, placeFlags()...),
				OnUsageError: usageError,
				Action:       listUploads,
			},
			retryCommand(), discardCommand(), exportCommand(),
		},
	}
}

// listUploads prints the uploads of a mount. The bytes of each are in the mount, as
// .archivefs/uploads/ID NAME.
func listUploads(c *cli.Context) error {
	dir, err := mountpointOperand(c)
	if err != nil {
		return err
	}
	_, status, err := readStatus(dir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, status.Uploads.List)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 4, 2, ' ', 0)
	for _, u := range status.Uploads.List {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", //nolint:errcheck // Flush tells
			u.ID, u.State, u.Changed.Local().Format(time.DateTime), size(u.Size), u.Path, u.Error)
	}
	return w.Flush()
}

func printJSON(c *cli.Context, v any) error {
	e := json.NewEncoder(c.App.Writer)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// chosenUploads reads the operands MOUNTPOINT|PROFILE [ID...] and returns those uploads, or all
// that fit when no id is given. An id that the mount does not have is an error.
func chosenUploads(c *cli.Context, fits func(*fs.UploadInfo) bool) (dir string, chosen []fs.UploadInfo, err error) {
	if c.NArg() == 0 {
		return "", nil, config.Usagef("uploads %s needs a MOUNTPOINT", c.Command.Name)
	}
	if dir, err = mountpointAt(c, c.Args().First()); err != nil {
		return "", nil, err
	}
	_, status, err := readStatus(dir)
	if err != nil {
		return "", nil, err
	}
	known := map[string]fs.UploadInfo{}
	for _, u := range status.Uploads.List {
		known[u.ID] = u
		if c.NArg() == 1 && fits(&u) {
			chosen = append(chosen, u)
		}
	}
	for _, id := range c.Args().Tail() {
		u, ok := known[id]
		if !ok {
			return "", nil, fmt.Errorf("there is no upload %q that is pending or failed; archivefs uploads list %s shows them", id, doctor.Quoted(dir))
		}
		chosen = append(chosen, u)
	}
	return dir, chosen, nil
}

// uploadFile finds the file of an upload in the control directory of the mount at dir.
func uploadFile(dir, id string) (string, error) {
	uploads := filepath.Join(dir, ".archivefs", "uploads")
	entries, err := os.ReadDir(uploads)
	if err != nil {
		return "", fmt.Errorf("read the uploads: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), id+" ") {
			return filepath.Join(uploads, e.Name()), nil
		}
	}
	return "", fmt.Errorf("upload %s has no file: %w", id, os.ErrNotExist)
}

// eachUpload does the same to several uploads and goes on after an error.
func eachUpload(chosen []fs.UploadInfo, do func(*fs.UploadInfo) error) error {
	var all []error
	for i := range chosen {
		if err := do(&chosen[i]); err != nil {
			all = append(all, fmt.Errorf("%s (%s): %w", chosen[i].Path, chosen[i].ID, err))
		}
	}
	return errors.Join(all...)
}
