package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

func adminUsersCommand() *cli.Command {
	const group = "users"
	const asked = "The password is asked for, or read from standard input where that is no terminal: its first line.\n"
	return adminGroup(group, "who shows a password beside an API key",
		administration{name: "list", usage: "a line for each user", do: listUsers}.command(group),
		administration{
			name: "add", usage: "add a user", operands: "NAME", least: 1, most: 1,
			description: asked + "An API key is needed, too: see archivefs help admin keys add.",
			do:          addUser,
		}.command(group),
		administration{
			name: "password", usage: "give a user another password", operands: "NAME", least: 1, most: 1,
			description: asked + "The one before can still be used for up to 2 s.",
			do:          setPassword,
		}.command(group),
		administration{
			name: "remove", usage: "remove a user, who is let in for up to 2 s more", operands: "NAME", least: 1, most: 1,
			description: "Inboxes and documents stay. An API key that the user knows is good as before, without a user.",
			do: func(c *cli.Context, a *server.Admin) error {
				if err := a.RemoveUser(c.Context, c.Args().First()); err != nil {
					return err
				}
				return tellDone(c, "removed user", c.Args().First())
			},
		}.command(group))
}

// tellDone says what became of something that has a name.
func tellDone(c *cli.Context, done, name string) error {
	if c.Bool("json") {
		return printJSON(c, map[string]string{"name": name})
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s %s\n", done, archive.Printable(name))
	return err
}

func addUser(c *cli.Context, a *server.Admin) error {
	name := c.Args().First()
	switch err := a.HasUser(c.Context, name); {
	case err == nil:
		return fmt.Errorf("there is a user %q already", name)
	case archive.KindOf(err) != archive.KindNotFound:
		return err
	}
	password, err := newAsker(c.Context, c.App.Reader, c.App.ErrWriter).newPassword(name)
	if err != nil {
		return err
	}
	id, err := a.AddUser(c.Context, name, password)
	if err != nil {
		return err
	}
	return printAdded(c, "user", id)
}

func setPassword(c *cli.Context, a *server.Admin) error {
	name := c.Args().First()
	if err := a.HasUser(c.Context, name); err != nil {
		return err
	}
	password, err := newAsker(c.Context, c.App.Reader, c.App.ErrWriter).newPassword(name)
	if err != nil {
		return err
	}
	if err := a.SetPassword(c.Context, name, password); err != nil {
		return err
	}
	return tellDone(c, "changed the password of", name)
}

// userJSON is a user as --json tells of it.
type userJSON struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

func listUsers(c *cli.Context, a *server.Admin) error {
	users, err := a.Users(c.Context)
	if err != nil {
		return err
	}
	told, rows := make([]userJSON, 0, len(users)), [][]string{{"ID", "ADDED", "NAME"}}
	for _, u := range users {
		told = append(told, userJSON(u))
		rows = append(rows, []string{decimal(u.ID), u.Created.Local().Format(time.DateTime), u.Name})
	}
	if c.Bool("json") {
		return printJSON(c, told)
	}
	return printTable(c, rows...)
}
