package main

import (
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

func adminAutoExportCommand() *cli.Command {
	const group = "auto-export"
	return adminGroup(group, "the documents that shall be exported",
		administration{
			name: "list", usage: "a line for each document whose auto-export status is set", do: listAutoExport,
		}.command(group))
}

// autoExportJSON is a document as --json tells of it.
type autoExportJSON struct {
	ID     archive.ID `json:"id"`
	Name   string     `json:"name"`
	Folder string     `json:"folder"`
}

func listAutoExport(c *cli.Context, a *server.Admin) error {
	told, rows := []autoExportJSON{}, [][]string{{"ID", "FOLDER", "NAME"}}
	err := a.AutoExports(c.Context, func(d server.AutoExport) error {
		told = append(told, autoExportJSON(d))
		rows = append(rows, []string{decimal(d.ID), d.Folder, d.Name})
		return nil
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, told)
	}
	return printTable(c, rows...)
}
