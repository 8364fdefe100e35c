package main

import (
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

func adminMandatorsCommand() *cli.Command {
	const group = "mandators"
	return adminGroup(group, "the top-level folders of the archive",
		administration{name: "list", usage: "a line for each mandator", do: listMandators}.command(group),
		administration{
			name: "add", usage: "add a mandator", operands: "NAME", least: 1, most: 1,
			do: func(c *cli.Context, a *server.Admin) error {
				id, err := a.AddMandator(c.Context, c.Args().First())
				if err != nil {
					return err
				}
				return printAdded(c, "mandator", id)
			},
		}.command(group))
}

// mandatorJSON is a mandator as --json tells of it.
type mandatorJSON struct {
	ID   archive.ID `json:"id"`
	Name string     `json:"name"`
}

func listMandators(c *cli.Context, a *server.Admin) error {
	mandators, err := a.Mandators(c.Context)
	if err != nil {
		return err
	}
	told, rows := make([]mandatorJSON, 0, len(mandators)), [][]string{{"ID", "NAME"}}
	for _, m := range mandators {
		told = append(told, mandatorJSON{m.ID, m.Name})
		rows = append(rows, []string{decimal(m.ID), m.Name})
	}
	if c.Bool("json") {
		return printJSON(c, told)
	}
	return printTable(c, rows...)
}
