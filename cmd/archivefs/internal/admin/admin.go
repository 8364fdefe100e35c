// Package admin has the commands for the archive of the embedded service.
package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
)

// Command is the command admin, with all below it.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "admin",
		Usage: "look after the archive of the embedded service",
		Subcommands: []*cli.Command{
			adminTenantsCommand(), adminMandatorsCommand(), adminInboxesCommand(), adminUsersCommand(), adminKeysCommand(),
			adminAutoExportCommand(), adminRemoveCommand(), adminTrashCommand(), adminRetentionCommand(), adminVerifyCommand(), adminBackupCommand(), adminRestoreCommand(), adminStatsCommand(),
		},
	}
}

// adminGroup is a group of commands.
func adminGroup(name, usage string, commands ...*cli.Command) *cli.Command {
	return &cli.Command{
		Name:        name,
		Usage:       usage,
		Subcommands: commands,
	}
}

// administration is a command that works in the archive's database.
type administration struct {
	name, usage, operands, description string
	flags                              []cli.Flag
	// least and most are the number of operands.
	least, most int
	do          func(c *cli.Context, a *server.Admin) error
	group       string // set by command
}

// everyTenant marks a command about all tenants.
const everyTenant = "tenants"

// command returns the cli command in a group.
func (a administration) command(group string) *cli.Command {
	a.group = group
	flags := append(placeOfDatabaseFlags(), a.flags...)
	if group != everyTenant {
		flags = append(flags, &cli.StringFlag{
			Name: "tenant", EnvVars: command.Env("TENANT"), Usage: "about the tenant of this `CLOUD-ID`; without it the one that every archive has",
		})
	}
	return &cli.Command{
		Name: a.name, Usage: a.usage, ArgsUsage: a.operands, Description: a.description,
		Flags:  append(flags, command.JSONFlag()),
		Action: a.run,
	}
}

func (a administration) run(c *cli.Context) error {
	name := strings.Join(strings.Fields("admin "+a.group+" "+a.name), " ")
	switch {
	case c.NArg() < a.least || c.NArg() > a.most:
		return config.Usagef("%s needs %s", name, a.operands)
	case slices.Contains(c.Args().Slice(), ""): // as of a variable that is not set
		return config.Usagef("%s was given an empty operand; it takes %s", name, a.operands)
	}
	at, err := archivePlace(c)
	if err != nil {
		return err
	}
	opened, err := server.OpenAdmin(c.Context, at)
	if err != nil {
		return inOneSentence(err)
	}
	err = inOneSentence(a.do(c, opened))
	return errors.Join(err, opened.Close())
}

// archivePlace reads the options that name the archive.
func archivePlace(c *cli.Context) (at server.Place, err error) {
	at.CloudID = c.String("tenant")
	if at.Database, err = command.Secret(c, "database"); err != nil || at.Database != "" {
		return at, err
	}
	at.Data, err = config.DataDir(c.String("data"))
	return at, err
}

// inOneSentence shortens an error of the archive to one sentence. A wrong value becomes wrong
// usage.
func inOneSentence(err error) error {
	var refused *archive.Error
	if !errors.As(err, &refused) || refused.Detail == "" {
		return err
	}
	if refused.Kind == archive.KindInvalid {
		return config.Usagef("%s", refused.Detail)
	}
	return errors.New(archive.Printable(refused.Detail))
}

// printTable writes rows of which the first has the headings. Texts are escaped.
func printTable(c *cli.Context, rows ...[]string) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = archive.Printable(cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t")) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// list runs a command that prints a table, or, with --json, its rows as objects. Without rows it prints
// no table, and says none on standard error.
func list[T any](
	none string, all func(*server.Admin, context.Context) ([]T, error), headings []string, tell func(T) (object any, row []string),
) func(*cli.Context, *server.Admin) error {
	return func(c *cli.Context, a *server.Admin) error {
		things, err := all(a, c.Context)
		if err != nil {
			return err
		}
		objects, rows := make([]any, 0, len(things)), [][]string{headings}
		for _, t := range things {
			object, row := tell(t)
			objects, rows = append(objects, object), append(rows, row)
		}
		if c.Bool("json") {
			return command.PrintJSON(c, objects)
		}
		if len(things) == 0 {
			command.Say(c.App.ErrWriter, "%s", none)
			return nil
		}
		return printTable(c, rows...)
	}
}

// adds runs a command that adds something with an id.
func adds[N ~int64](what string, add func(*cli.Context, *server.Admin) (N, error)) func(*cli.Context, *server.Admin) error {
	return func(c *cli.Context, a *server.Admin) error {
		id, err := add(c, a)
		if err != nil {
			return err
		}
		return printAdded(c, what, id)
	}
}

// printAdded prints the id of something that was added.
func printAdded[N ~int64](c *cli.Context, what string, id N) error {
	if c.Bool("json") {
		return command.PrintJSON(c, map[string]N{"id": id})
	}
	_, err := fmt.Fprintf(c.App.Writer, "added %s %d\n", what, id)
	return err
}

// decimal is an id as text.
func decimal[N ~int64](id N) string { return strconv.FormatInt(int64(id), 10) }

// orDash returns text, or a dash if it is empty.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
