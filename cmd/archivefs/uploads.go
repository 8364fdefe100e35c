package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

func uploadsCommand() *cli.Command {
	return &cli.Command{
		Name:         "uploads",
		Usage:        "see what the archive does not have yet, or could not take",
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return config.Usagef("there is no command uploads %q", c.Args().First())
			}
			return cli.ShowSubcommandHelp(c)
		},
		Subcommands: []*cli.Command{{
			Name:         "list",
			Usage:        "a line for each pending or failed upload, its id first",
			ArgsUsage:    "MOUNTPOINT",
			Flags:        []cli.Flag{jsonFlag()},
			OnUsageError: usageError,
			Action:       listUploads,
		}},
	}
}

// listUploads prints the uploads of a mount. The bytes of each are in the mount, as
// .archivefs/uploads/ID NAME.
func listUploads(c *cli.Context) error {
	dir, err := onlyMountpoint(c)
	if err != nil {
		return err
	}
	_, status, err := readStatus(dir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		e := json.NewEncoder(c.App.Writer)
		e.SetIndent("", "  ")
		return e.Encode(status.Uploads.List)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 4, 2, ' ', 0)
	for _, u := range status.Uploads.List {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", //nolint:errcheck // Flush tells
			u.ID, u.State, u.Changed.Local().Format(time.DateTime), size(u.Size), u.Path, u.Error)
	}
	return w.Flush()
}
