// Package admin has the commands for the archive of the embedded service.
package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
	return &cli.Command{Name: name, Usage: usage, Subcommands: commands}
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

// inOneSentence shortens an error of the archive to one sentence. A wrong value becomes wrong usage.
func inOneSentence(err error) error {
	refused, ok := errors.AsType[*archive.Error](err)
	switch {
	case !ok || refused.Detail == "":
		return err
	case refused.Kind == archive.KindInvalid:
		return config.Usagef("%s", refused.Detail)
	}
	return errors.New(archive.Printable(refused.Detail))
}

// printTable writes rows of which the first has the headings. Texts are escaped.
func printTable(c *cli.Context, rows ...[]string) error {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = archive.Printable(cell)
		}
	}
	return command.PrintTable(c.App.Writer, rows)
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
	return tell(c, map[string]N{"id": id}, "added %s %d\n", what, id)
}

// tell prints the result of a command: a text, or, with --json, an object.
func tell(c *cli.Context, object any, format string, args ...any) error {
	if c.Bool("json") {
		return command.PrintJSON(c, object)
	}
	_, err := fmt.Fprintf(c.App.Writer, format, args...)
	return err
}

// decimal is an id as text.
func decimal[N ~int64](id N) string { return strconv.FormatInt(int64(id), 10) }

// ungrouped is the group of a command directly below admin.
const ungrouped = ""

func adminRemoveCommand() *cli.Command {
	return administration{
		name: "remove", usage: "move documents into the trash, from where they are erased after a term", operands: "ID...", least: 1, most: math.MaxInt,
		description: "An archived document has no other way out of the archive: users cannot remove it, nor can any\n" +
			"client. Mounts show that it is gone within their --ttl. Until its --term is over it can be\n" +
			"restored; then a service erases it, with what is made of it and what the audit trail says of it.\n" +
			"The audit trail keeps who removed it, when, and the --reason.\n\n" +
			"   archivefs admin remove 4711 --reason 'uploaded twice'\n\n" +
			"A document that is retained (see archivefs help admin retention add) is removed only if the law\n" +
			"demands it, as GDPR, article 17. ID is the attribute user.archive.id.",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "why: `TEXT` for the audit trail, which is never erased"},
			&cli.StringFlag{Name: "term", Value: "30d", Usage: "keep them in the trash for `TERM`, as 30d, 6m or 1y"},
			&cli.BoolFlag{Name: "erasure-by-law", Usage: "remove them even if they are retained"},
		},
		do: removeDocuments,
	}.command(ungrouped)
}

func removeDocuments(c *cli.Context, a *server.Admin) error {
	ids, err := documentIDs(c)
	if err != nil {
		return err
	}
	switch reason := c.String("reason"); {
	case !c.IsSet("reason"):
		return config.Usagef("admin remove needs --reason TEXT, which says why; the audit trail keeps it")
	case strings.TrimSpace(reason) == "":
		return config.WrongOption("reason", "say why; the audit trail keeps it")
	}
	term, err := parseTerm(c.String("term"))
	if err != nil {
		return config.WrongOption("term", "%v", err)
	}
	if err := a.Remove(c.Context, ids, c.String("reason"), term, c.Bool("erasure-by-law")); err != nil {
		return err
	}
	return tellMoved(c, "moved %s into the trash\n", ids)
}

func adminTrashCommand() *cli.Command {
	const group = "trash"
	return adminGroup(group, "documents that were removed, until they are erased",
		administration{
			name: "list", usage: "a line for each document in the trash",
			do: list("the trash is empty", (*server.Admin).Trash, []string{"ID", "REMOVED", "ERASED FROM", "SIZE", "BY", "DOCUMENT", "REASON"}, func(d server.Trashed) (any, []string) {
				due := d.Due.Local().Format(time.DateTime)
				if d.Erasing {
					due = "being erased"
				}
				return d, []string{decimal(d.ID), d.Removed.Local().Format(time.DateTime), due, command.Size(d.Size), cmp.Or(d.Who, "-"), cmp.Or(d.Place, "-"), d.Reason}
			}),
		}.command(group),
		administration{
			name: "restore", usage: "move documents back to where they were, with their ids", operands: "ID...", least: 1, most: math.MaxInt,
			do: func(c *cli.Context, a *server.Admin) error {
				ids, err := documentIDs(c)
				if err != nil {
					return err
				}
				if err := a.RestoreTrash(c.Context, ids); err != nil {
					return err
				}
				return tellMoved(c, "restored %s\n", ids)
			},
		}.command(group),
		administration{
			name: "empty", usage: "erase documents of the trash now", operands: "[ID...]", most: math.MaxInt,
			description: "Erases the documents of these IDs, or with --all every one, before their terms are over. The\n" +
				"command waits until it is done: by a service that uses the archive, or, for a data directory that\n" +
				"none uses, by itself. Nothing brings them back, except a backup. A document that is retained\n" +
				"stays, unless it was removed by law.",
			flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "all documents in the trash"}},
			do:    emptyTrash,
		}.command(group))
}

func emptyTrash(c *cli.Context, a *server.Admin) error {
	ids, err := documentIDs(c)
	if err != nil {
		return err
	}
	switch all := c.Bool("all"); {
	case all && len(ids) > 0:
		return config.WrongOption("all", "it goes without IDs")
	case !all && len(ids) == 0:
		return config.Usagef("admin trash empty needs the IDs of documents, or --all")
	case all:
		trash, err := a.Trash(c.Context)
		if err != nil {
			return err
		}
		for _, d := range trash {
			ids = append(ids, d.ID)
		}
	}
	if err := a.EmptyTrash(c.Context, ids); err != nil {
		return err
	}
	return tellMoved(c, "erased %s\n", ids)
}

func adminRetentionCommand() *cli.Command {
	const group = "retention"
	return adminGroup(group, "how long documents are kept before they can be removed",
		administration{
			name: "list", usage: "a line for each rule",
			do: list("there is no retention rule", (*server.Admin).Retentions, []string{"ID", "CLASS", "TERM", "FOLDER", "TYPE"}, func(r server.Retention) (any, []string) {
				return r, []string{decimal(r.ID), r.Name, r.Term, cmp.Or(r.Folder, "-"), cmp.Or(r.Type, "-")}
			}),
		}.command(group),
		administration{
			name: "add", usage: "keep documents for a term after they were archived", operands: "CLASS TERM", least: 2, most: 2,
			description: "The rule is for all archived documents, or for those in --folder and below it, or of --type, or\n" +
				"both. Of several rules for a document the longest counts. A CLASS can have several rules. A rule\n" +
				"also holds documents that are in the trash already, unless they were removed by law.\n\n" +
				"   archivefs admin retention add invoices 10y --folder 'Muster GmbH/Rechnungen'\n" +
				"   archivefs admin retention add letters 6y --type Brief",
			flags: []cli.Flag{
				&cli.StringFlag{Name: "folder", Usage: "for documents in the folder at `PATH`, which begins with a mandator"},
				&cli.StringFlag{Name: "type", Usage: "for documents of this document `TYPE`"},
			},
			do: adds("retention rule", func(c *cli.Context, a *server.Admin) (int64, error) {
				term, err := parseTerm(c.Args().Get(1))
				if err != nil {
					return 0, config.Usagef("TERM: %v", err)
				}
				n := server.NewRetention{Name: c.Args().First(), Term: term, Type: c.String("type")}
				if path := strings.Trim(c.String("folder"), "/"); path != "" {
					n.Folder = strings.Split(path, "/")
				}
				return a.AddRetention(c.Context, n)
			}),
		}.command(group),
		administration{
			name: "remove", usage: "remove a rule", operands: "ID", least: 1, most: 1,
			do: func(c *cli.Context, a *server.Admin) error {
				ids, err := documentIDs(c)
				if err != nil {
					return err
				}
				return a.RemoveRetention(c.Context, int64(ids[0]))
			},
		}.command(group))
}

// documentIDs reads the operands as ids.
func documentIDs(c *cli.Context) ([]archive.ID, error) {
	var ids []archive.ID
	for _, text := range c.Args().Slice() {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			return nil, config.Usagef("%q is no id", text)
		}
		ids = append(ids, archive.ID(id))
	}
	return ids, nil
}

// tellMoved says what was done with documents.
func tellMoved(c *cli.Context, format string, ids []archive.ID) error {
	return tell(c, map[string][]archive.ID{"ids": ids}, format, command.Plural(len(ids), "document"))
}

// mostYears is the longest term.
const mostYears = 1000

// parseTerm reads a term of the calendar: 30d, 6m or 10y.
func parseTerm(text string) (t server.Term, err error) {
	wrong := errors.New("a term is a number of days, months or years, as 30d, 6m or 10y")
	if text == "" {
		return t, wrong
	}
	number, unit := text[:len(text)-1], text[len(text)-1:]
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return t, wrong
	}
	most := mostYears
	switch unit {
	case "d":
		t.Days, most = n, mostYears*366
	case "m":
		t.Months, most = n, mostYears*12
	case "y":
		t.Months = n * 12
	default:
		return t, wrong
	}
	if n > most {
		return server.Term{}, fmt.Errorf("a term has at most %d years", mostYears)
	}
	return t, nil
}
