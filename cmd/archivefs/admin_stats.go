package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server/care"
	"github.com/archivefs/archivefs/internal/server/store"
)

func adminStatsCommand() *cli.Command {
	return &cli.Command{
		Name:         "stats",
		Usage:        "count what the archive holds",
		Description:  "Services may use the archive meanwhile. The numbers are of all tenants.",
		Flags:        append(placeOfArchiveFlags(), jsonFlag()),
		OnUsageError: usageError,
		Action:       adminStats,
	}
}

func adminStats(c *cli.Context) error {
	if c.Args().Present() {
		return config.Usagef("admin stats takes no operands, and was given %d", c.NArg())
	}
	place, err := readPlace(c)
	if err != nil {
		return err
	}
	archive, err := care.View(c.Context, place)
	if err != nil {
		return err
	}
	defer archive.Close() //nolint:errcheck // it was only read
	totals, err := archive.Store.Totals(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, totals)
	}
	return printTotals(c, totals)
}

func printTotals(c *cli.Context, t store.Totals) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 4, 2, ' ', 0)
	number := humanize.Comma
	rows := [][2]string{
		{"tenants", number(t.Tenants)},
		{"mandators", number(t.Mandators)},
		{"folders", number(t.Folders)},
		{"documents", number(t.Documents) + ", " + size(t.Bytes)},
		{"contents", fmt.Sprintf("%s, %s; %s shared", number(t.Contents), size(t.ContentBytes), number(t.SharedContents))},
		{"renditions", number(t.Renditions)},
		{"texts", fmt.Sprintf("%s indexed, %s waiting, %s failed", number(t.Texts.Indexed), number(t.Texts.Waiting), number(t.Texts.Failed))},
		{"inboxes", number(t.Inboxes)},
		{"inbox documents", number(t.InboxDocuments)},
	}
	if t.OldestInbox != nil {
		rows = append(rows, [2]string{"the oldest of", t.OldestInbox.Local().Format(time.DateTime)})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(w, "%s\t%s\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return w.Flush()
}
