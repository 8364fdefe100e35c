package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
)

func adminKeysCommand() *cli.Command {
	const group = "keys"
	return adminGroup(group, "what clients show to be let in",
		administration{
			name: "list", usage: "a line for each API key, its id first", do: listKeys,
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
	for _, scope := range strings.Split(c.String("scope"), ",") {
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
		return printJSON(c, struct {
			ID      int64      `json:"id"`
			Key     string     `json:"key"`
			Expires *time.Time `json:"expires,omitempty"`
		}{id, key, optionalTime(n.Expires)})
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

// expiry is when a key ends that is added now, to the second, zero for never.
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
	return time.Time{}, config.Usagef("--expires: %q is neither a time to come nor a duration; write for example 90d, 12h or %s",
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
	if c.Bool("json") {
		return printJSON(c, map[string][]int64{"revoked": ids})
	}
	_, err := fmt.Fprintln(c.App.Writer, "revoked "+plural(len(ids), "key"))
	return err
}
