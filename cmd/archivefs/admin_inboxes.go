package main

import (
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

func adminInboxesCommand() *cli.Command {
	const group = "inboxes"
	return adminGroup(group, "where documents wait to be archived",
		administration{name: "list", usage: "a line for each inbox", do: listInboxes}.command(group),
		administration{
			name: "add", usage: "add an inbox", operands: "NAME", least: 1, most: 1,
			description: "An inbox of a --user takes what this user uploads without saying where to, and is shown beside\n" +
				"an API key that is for some mandators alone.",
			flags: []cli.Flag{&cli.StringFlag{Name: "user", Usage: "make it the inbox of the user `NAME`"}},
			do: func(c *cli.Context, a *server.Admin) error {
				id, err := a.AddInbox(c.Context, c.Args().First(), c.String("user"))
				if err != nil {
					return err
				}
				return printAdded(c, "inbox", id)
			},
		}.command(group))
}

// inboxJSON is an inbox as --json tells of it.
type inboxJSON struct {
	ID     archive.ID `json:"id"`
	Name   string     `json:"name"`
	UserID int64      `json:"user-id"`
	User   string     `json:"user,omitempty"`
}

func listInboxes(c *cli.Context, a *server.Admin) error {
	inboxes, err := a.Inboxes(c.Context)
	if err != nil {
		return err
	}
	told, rows := make([]inboxJSON, 0, len(inboxes)), [][]string{{"ID", "USER", "NAME"}}
	for _, in := range inboxes {
		told = append(told, inboxJSON(in))
		rows = append(rows, []string{decimal(in.ID), orDash(in.User), in.Name})
	}
	if c.Bool("json") {
		return printJSON(c, told)
	}
	return printTable(c, rows...)
}
