package admin

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/store"
)

func adminTenantsCommand() *cli.Command {
	const group = everyTenant
	return adminGroup(group, "whose archives the database keeps apart",
		administration{
			name: "list", usage: "a line for each tenant",
			do: list("there is no tenant", (*server.Admin).Tenants, []string{"ID", "CLOUD-ID", "NAME"}, func(t store.Tenant) (any, []string) {
				return t, []string{decimal(t.ID), cmp.Or(t.CloudID, "-"), cmp.Or(t.Name, "-")}
			}),
		}.command(group),
		administration{
			name: "add", usage: "add a tenant, whose archive is empty", operands: "CLOUD-ID [NAME]", least: 1, most: 2,
			description: "Clients can name a tenant by its CLOUD-ID, beside an API key of the tenant. The archive needs a\n" +
				"mandator before documents can be put in:\n\n" +
				"   archivefs admin tenants add muster 'Muster GmbH'\n" +
				"   archivefs admin mandators add --tenant muster Rechnungswesen\n" +
				"   archivefs admin keys add --tenant muster >keyfile",
			do: adds("tenant", func(c *cli.Context, a *server.Admin) (store.TenantID, error) {
				return a.AddTenant(c.Context, c.Args().First(), c.Args().Get(1))
			}),
		}.command(group))
}

func adminMandatorsCommand() *cli.Command {
	const group = "mandators"
	return adminGroup(group, "the top-level folders of the archive",
		administration{
			name: "list", usage: "a line for each mandator",
			do: list("there is no mandator", (*server.Admin).Mandators, []string{"ID", "NAME"}, func(m server.Root) (any, []string) {
				return mandatorJSON{m.ID, m.Name}, []string{decimal(m.ID), m.Name}
			}),
		}.command(group),
		administration{
			name: "add", usage: "add a mandator", operands: "NAME", least: 1, most: 1,
			do: adds("mandator", func(c *cli.Context, a *server.Admin) (archive.ID, error) {
				return a.AddMandator(c.Context, c.Args().First())
			}),
		}.command(group))
}

// mandatorJSON is a mandator in the output of --json.
type mandatorJSON struct {
	ID   archive.ID `json:"id"`
	Name string     `json:"name"`
}

func adminInboxesCommand() *cli.Command {
	const group = "inboxes"
	return adminGroup(group, "where documents wait to be archived",
		administration{
			name: "list", usage: "a line for each inbox",
			do: list("there is no inbox", (*server.Admin).Inboxes, []string{"ID", "USER", "NAME"}, func(in server.Root) (any, []string) {
				return in, []string{decimal(in.ID), cmp.Or(in.User, "-"), in.Name}
			}),
		}.command(group),
		administration{
			name: "add", usage: "add an inbox", operands: "NAME", least: 1, most: 1,
			description: "An inbox of a --user takes what this user uploads without saying where to, and is shown beside\n" +
				"an API key that is for some mandators alone.",
			flags: []cli.Flag{&cli.StringFlag{Name: "user", Usage: "make it the inbox of the user `NAME`"}},
			do: adds("inbox", func(c *cli.Context, a *server.Admin) (archive.ID, error) {
				return a.AddInbox(c.Context, c.Args().First(), c.String("user"))
			}),
		}.command(group))
}

func adminUsersCommand() *cli.Command {
	const group = "users"
	const asked = "The password is asked for, or read from standard input where that is no terminal: its first line.\n"
	return adminGroup(group, "who shows a password beside an API key",
		administration{
			name: "list", usage: "a line for each user",
			do: list("there is no user", (*server.Admin).Users, []string{"ID", "ADDED", "NAME"}, func(u store.Account) (any, []string) {
				return u, []string{decimal(u.ID), u.Created.Local().Format(time.DateTime), u.Name}
			}),
		}.command(group),
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

// tellDone prints the result of a command.
func tellDone(c *cli.Context, done, name string) error {
	return tell(c, map[string]string{"name": name}, "%s %s\n", done, archive.Printable(name))
}

func addUser(c *cli.Context, a *server.Admin) error {
	name := c.Args().First()
	switch err := a.HasUser(c.Context, name); {
	case err == nil:
		return fmt.Errorf("there is a user %q already", name)
	case archive.KindOf(err) != archive.KindNotFound:
		return err
	}
	password, err := command.NewAsker(c.Context, c.App.Reader, c.App.ErrWriter).NewPassword(name)
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
	password, err := command.NewAsker(c.Context, c.App.Reader, c.App.ErrWriter).NewPassword(name)
	if err != nil {
		return err
	}
	if err := a.SetPassword(c.Context, name, password); err != nil {
		return err
	}
	return tellDone(c, "changed the password of", name)
}

func adminAutoExportCommand() *cli.Command {
	const group = "auto-export"
	return adminGroup(group, "the documents that shall be exported",
		administration{
			name: "list", usage: "a line for each document whose auto-export status is set",
			do: list("no document shall be exported", (*server.Admin).AutoExports, []string{"ID", "FOLDER", "NAME"}, func(d server.AutoExport) (any, []string) {
				return d, []string{decimal(d.ID), d.Folder, d.Name}
			}),
		}.command(group))
}

func adminKeysCommand() *cli.Command {
	const group = "keys"
	return adminGroup(group, "what clients show to be let in",
		administration{
			name: "list", usage: "a line for each API key, its id first",
			do: list("there is no API key", (*server.Admin).Keys, []string{"ID", "STATE", "SCOPES", "MANDATORS", "ADDED", "USED", "ENDS", "NAME"}, tellKey),
			description: "The keys themselves are not kept. ENDS is when a key ends, or when it was revoked: a key is let\n" +
				"in until that second. Whether one was used is noted once a minute.",
		}.command(group),
		administration{
			name: "add", usage: "make an API key, and print it this once", operands: "[NAME]", most: 1,
			description: "The key alone goes to standard output. NAME says to people whose it is. With a --mandator the\n" +
				"key shows that one and what lies in it; of the inboxes only those of the user who is shown beside\n" +
				"it. Once there is a key, archivefs serve makes none of its own any more.\n\n" +
				"   archivefs admin keys add --expires 90d 'Erika, notebook' >keyfile\n" +
				"   archivefs admin keys add --scope write --mandator 'Muster GmbH' 'scanner of the office'",
			flags: []cli.Flag{
				&cli.StringFlag{Name: "expires", DefaultText: "never", Usage: "let it in for `DURATION`, as in 90d or 12h, or until the end of a day, as in 2027-12-31"},
				&cli.StringFlag{Name: "scope", Value: "read,write", Usage: "permit `SCOPES`: read, write, or both with a comma between them"},
				&cli.StringSliceFlag{Name: "mandator", Usage: "show the mandator `NAME` and no other; may be given several times"},
			},
			do: addKey,
		}.command(group),
		administration{
			name: "revoke", usage: "end API keys for ever", operands: "ID...", least: 1, most: 1000,
			description: "A key that is revoked is let in for up to 2 s more.",
			do:          revokeKeys,
		}.command(group))
}

func addKey(c *cli.Context, a *server.Admin) error {
	n := server.NewKey{Name: c.Args().First(), Mandators: c.StringSlice("mandator")}
	for scope := range strings.SplitSeq(c.String("scope"), ",") {
		n.Scopes = append(n.Scopes, server.Scope(strings.TrimSpace(scope)))
	}
	var err error
	if n.Expires, err = expiry(c.String("expires"), time.Now()); err != nil {
		return err
	}
	id, key, err := a.AddKey(c.Context, n)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(c, struct {
			ID      int64     `json:"id"`
			Key     string    `json:"key"`
			Expires time.Time `json:"expires,omitzero"`
		}{id, key, n.Expires})
	}
	if _, err := fmt.Fprintln(c.App.Writer, key); err != nil {
		return err
	}
	until := ""
	if !n.Expires.IsZero() {
		until = ", which ends at " + moment(n.Expires)
	}
	_, err = fmt.Fprintf(c.App.ErrWriter, "added key %d%s; it is not kept, and nobody can show it again\n", id, until)
	return err
}

// expiry returns when a new key expires, to the second, zero for never.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil && day.AddDate(0, 0, 1).After(now) {
		return day.AddDate(0, 0, 1), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return now.AddDate(0, 0, int(n)).Truncate(time.Second), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= time.Second {
		return now.Add(d).Truncate(time.Second), nil
	}
	return time.Time{}, config.WrongOption("expires", "%q is neither a time to come nor a duration; write for example 90d, 12h or %s",
		text, now.AddDate(1, 0, 0).Format(time.DateOnly))
}

func revokeKeys(c *cli.Context, a *server.Admin) error {
	ids := make([]int64, 0, c.NArg())
	for _, text := range c.Args().Slice() {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return config.Usagef("%q is no id of a key; archivefs admin keys list shows them", text)
		}
		ids = append(ids, id)
	}
	if err := a.RevokeKeys(c.Context, ids...); err != nil {
		return err
	}
	return tell(c, map[string][]int64{"revoked": ids}, "revoked %s\n", command.Plural(len(ids), "key"))
}

// keyJSON is a key in the output of --json.
type keyJSON struct {
	server.Key
	State string `json:"state"` // valid, expired or revoked
}

func tellKey(k server.Key) (any, []string) {
	now, mandators := time.Now(), strings.Join(k.Mandators, ", ")
	row := []string{
		decimal(k.ID), keyState(&k), strings.Join(k.Scopes, ","), cmp.Or(mandators, "all"), k.Created.Local().Format(time.DateTime),
		keyUse(&k, now), keyEnd(&k, now), k.Name,
	}
	return keyJSON{k, keyState(&k)}, row
}

func keyState(k *server.Key) string {
	switch {
	case k.Valid:
		return "valid"
	case k.Revoked.IsZero():
		return "expired"
	}
	return "revoked"
}

// keyUse says when a key was used last.
func keyUse(k *server.Key, now time.Time) string {
	if k.Used.IsZero() {
		return "never"
	}
	return span(now.Sub(k.Used)) + " ago"
}

// keyEnd says when a key expires, or expired.
func keyEnd(k *server.Key, now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return moment(k.Revoked) + ", " + span(now.Sub(k.Revoked)) + " ago"
	case k.Expires.IsZero():
		return "never"
	case k.Valid:
		return moment(k.Expires) + ", in " + span(k.Expires.Sub(now))
	}
	return moment(k.Expires) + ", " + span(now.Sub(k.Expires)) + " ago"
}

// moment is a time in UTC, to the second.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// span is a duration in the largest unit of which it has at least two.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/day)
}
