package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

// uploadOperand is what names the place of uploads.
const uploadOperand = "MOUNTPOINT|PROFILE|STATEDIR"

// ofStateDir says what the last of them is for.
const ofStateDir = "STATEDIR is the state directory of a mount that has ended, as archivefs doctor names it: what\n" +
	"waits there is reached also when the service does not take the credentials any more."

// ofLocal says what is listed beside the uploads.
const ofLocal = "Files that hold something and stay on this machine, because their names are temporary ones, are\n" +
	"listed, too, in the state local.\n\n"

func uploadsCommand() *cli.Command {
	return &cli.Command{
		Name:            "uploads",
		Usage:           "see and decide about what the archive does not have yet, or could not take",
		HideHelpCommand: true, // arrange knows help
		OnUsageError:    usageError,
		Action:          chooseCommand("uploads"),
		Subcommands: []*cli.Command{
			{
				Name:         "list",
				Usage:        "a line for each pending or failed upload and local file, its id first",
				ArgsUsage:    uploadOperand,
				Description:  ofLocal + ofStateDir,
				Flags:        append([]cli.Flag{jsonFlag()}, placeFlags()...),
				OnUsageError: usageError,
				Action:       listUploads,
			},
			retryCommand(), discardCommand(), exportCommand(),
		},
	}
}

// listUploads prints the uploads of a mount, or of a state directory that none uses. The bytes
// of each are in the mount, as .archivefs/uploads/ID NAME.
func listUploads(c *cli.Context) (err error) {
	if err := oneOperand(c); err != nil {
		return err
	}
	_, place, err := uploadsAt(c, c.Args().First())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	if c.Bool("json") {
		return printJSON(c, place.List())
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 4, 2, ' ', 0)
	for _, u := range place.List() {
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

// chosen are uploads that somebody named, and where they wait.
type chosen struct {
	dir     string
	place   uploadPlace
	uploads []fs.UploadInfo
}

// chooseUploads reads the operands of a command, where the uploads wait and [ID...], and
// returns those uploads, or all that fit when no id is given. An id that is not there is an
// error. The caller closes the place.
func chooseUploads(c *cli.Context, fits func(*fs.UploadInfo) bool) (*chosen, error) {
	if c.NArg() == 0 {
		return nil, config.Usagef("uploads %s needs a MOUNTPOINT", c.Command.Name)
	}
	dir, place, err := uploadsAt(c, c.Args().First())
	if err != nil {
		return nil, err
	}
	all := &chosen{dir: dir, place: place}
	known := map[string]fs.UploadInfo{}
	for _, u := range place.List() {
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

// each does the same to the uploads, goes on after an error, and closes the place.
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
