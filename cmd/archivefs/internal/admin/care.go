package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/care"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/store"
)

// placeOfDatabaseFlags name the database of the archive, like those of serve.
func placeOfDatabaseFlags() []cli.Flag {
	return []cli.Flag{
		command.DataFlag("the archive is in `DIR`, as with serve"),
		&cli.StringFlag{Name: "database", EnvVars: command.Env("DATABASE"), Usage: "its database is the PostgreSQL at `URL`, as with serve"},
		&cli.StringFlag{Name: "database-file", EnvVars: command.Env("DATABASE_FILE"), TakesFile: true, Usage: "its database is the PostgreSQL at the URL in `FILE`"},
	}
}

// placeOfArchiveFlags name its contents, too.
func placeOfArchiveFlags() []cli.Flag {
	return append(placeOfDatabaseFlags(),
		&cli.StringFlag{Name: "blobs", EnvVars: command.Env("BLOBS"), Usage: "its contents are in the bucket at `ADDRESS`, as with serve"})
}

func readPlace(c *cli.Context) (place care.Place, err error) {
	if place.Database, err = command.Secret(c, "database"); err != nil {
		return place, err
	}
	if place.Blobs = c.String("blobs"); place.Blobs != "" && place.Database == "" {
		return place, config.WrongTogether("%s needs %s", "blobs", "database")
	}
	place.Data, err = config.DataDir(c.String("data"))
	return place, err
}

// watchCare shows on a terminal how much is left, until stop.
func watchCare(c *cli.Context, all command.Backlog, seen *care.Progress) (bar *command.Progress, stop func()) {
	bar = command.NewProgress(c.App.ErrWriter)
	return bar, bar.Follow(c.Context, func(context.Context) command.Backlog { return all }, func() command.Backlog {
		// The number of rows becomes known during the work.
		return command.Backlog{Uploads: int(seen.Contents.Load()), Bytes: seen.Bytes.Load(), Rows: -seen.RowsLeft.Load()}
	})
}

func adminBackupCommand() *cli.Command {
	return &cli.Command{
		Name:      "backup",
		Usage:     "copy the archive into a directory, while services go on",
		ArgsUsage: "BACKUP",
		Description: "The directory BACKUP then has the archive as it was at one moment after the call. Of an earlier\n" +
			"backup there the contents are not copied again, and it stays whole until the new one is. What\n" +
			"is interrupted is never taken for a backup. Exit status 1 also says that contents are damaged\n" +
			"or missing in the archive.",
		Flags:  append(placeOfArchiveFlags(), &cli.BoolFlag{Name: "json", Usage: "print the numbers as JSON"}),
		Action: adminBackup,
	}
}

func adminBackup(c *cli.Context) error {
	dir, err := backupOperand(c)
	if err != nil {
		return err
	}
	from, err := readPlace(c)
	if err != nil {
		return err
	}
	var seen care.Progress
	_, stop := watchCare(c, archiveTotals(c, from), &seen)
	done, err := care.Backup(c.Context, from, dir, &seen)
	stop()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := tellCopied(c, done); err != nil {
		return err
	}
	return tellLacking(c, done.Lacking, "the archive", verifyPlaceCommand(from))
}

func adminRestoreCommand() *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "make an archive of a backup",
		ArgsUsage: "BACKUP",
		Description: "Copies the backup in the directory BACKUP to --data, which must be empty, or to an empty\n" +
			"--database and its contents, whatever kind of archive the backup was taken of, and compares\n" +
			"every content with its SHA-256. A restore that was interrupted goes on when it is called again;\n" +
			"no service takes the archive before it is whole.",
		Flags: append(placeOfArchiveFlags(),
			&cli.BoolFlag{Name: "partial", Usage: "restore the archive even if contents are damaged or missing in the backup"},
			&cli.BoolFlag{Name: "json", Usage: "print the numbers as JSON"},
		),
		Action: adminRestore,
	}
}

func adminRestore(c *cli.Context) error {
	dir, err := backupOperand(c)
	if err != nil {
		return err
	}
	to, err := readPlace(c)
	if err != nil {
		return err
	}
	manifest, err := care.ReadManifest(dir)
	if err != nil {
		return err
	}
	var seen care.Progress
	_, stop := watchCare(c, command.Backlog{What: "content", Uploads: int(manifest.Contents), Bytes: manifest.Bytes}, &seen)
	done, err := care.Restore(c.Context, dir, to, c.Bool("partial"), &seen)
	stop()
	if err != nil {
		if lacking := new(care.LackingError); errors.As(err, &lacking) {
			_ = tellLacking(c, lacking.Digests, "the backup", verifyBackupCommand(dir)) // the error says it as well
			return fmt.Errorf("restore: %w; --partial restores the rest, or take another backup", err)
		}
		return fmt.Errorf("restore: %w", err)
	}
	if err := tellCopied(c, done); err != nil {
		return err
	}
	return tellLacking(c, done.Lacking, "the backup", verifyBackupCommand(dir))
}

// backupOperand is the directory of the backup.
func backupOperand(c *cli.Context) (string, error) {
	if c.NArg() != 1 {
		return "", config.Usagef("admin %s needs one operand, the directory of the backup, and was given %d", c.Command.Name, c.NArg())
	}
	if c.Args().First() == "" {
		return "", config.Usagef("the operand of admin %s is empty; name the directory of the backup", c.Command.Name)
	}
	return filepath.Abs(c.Args().First())
}

// archiveTotals is the size of the archive, for the progress bar.
func archiveTotals(c *cli.Context, place care.Place) command.Backlog {
	all := command.Backlog{What: "content"}
	if !command.IsTerminal(c.App.ErrWriter) {
		return all
	}
	if a, err := care.View(c.Context, place); err == nil {
		defer a.Close() //nolint:errcheck // it was only read
		if totals, err := a.Store.Totals(c.Context); err == nil {
			all.Uploads, all.Bytes = int(totals.Contents), totals.ContentBytes
		}
	}
	return all
}

func tellCopied(c *cli.Context, done care.Copied) error {
	return tell(c, done, "%s, %s, %s, as of %s; %s copied\n", command.Plural(int(done.Documents), "document"),
		command.Plural(int(done.Contents), "content"), command.Size(done.Bytes), done.Made.Local().Format("2006-01-02 15:04:05"), command.Plural(int(done.Added), "content"))
}

// tellLacking names contents that could not be copied, and how to find their documents. It returns the exit status.
func tellLacking(c *cli.Context, lacking []string, where, look string) error {
	if len(lacking) == 0 {
		return nil
	}
	for _, digest := range lacking {
		command.Complain(c.App.ErrWriter, "content %s is missing or damaged in %s", archive.Printable(digest), where)
	}
	command.Complain(c.App.ErrWriter, "to see which documents need them: %s", look)
	return command.ExitStatus(1)
}

// verifyBackupCommand and verifyPlaceCommand are the commands for a full check. The URL of a
// database may contain a password.
func verifyBackupCommand(dir string) string {
	return "archivefs admin verify --backup " + archive.Printable(dir)
}

func verifyPlaceCommand(place care.Place) string {
	if place.Database != "" {
		return "archivefs admin verify, with --database and the like as here"
	}
	return "archivefs admin verify --data " + archive.Printable(place.Data)
}

func adminVerifyCommand() *cli.Command {
	return &cli.Command{
		Name:  "verify",
		Usage: "find out whether all contents and rows of the archive are whole",
		Description: "Reads every content and compares it with its SHA-256, every document with its content, and all\n" +
			"rows with the rules that they must follow. Services may use the archive meanwhile; it changes\n" +
			"nothing without --fix or --remove-orphans. A line on standard output names each finding and the\n" +
			"documents it concerns; the last line has the numbers. Exit status: 0 all is well, 1 something was\n" +
			"found, 2 wrong usage.",
		Flags: append(placeOfArchiveFlags(),
			&cli.StringFlag{Name: "backup", TakesFile: true, Usage: "verify the one in the directory `BACKUP` instead"},
			&cli.BoolFlag{Name: "fast", Usage: "look whether contents are there and have their sizes, and do not read them"},
			&cli.DurationFlag{Name: "grace", Value: time.Hour, Usage: "report an unused content if it is older than `DURATION`"},
			&cli.BoolFlag{Name: "remove-orphans", Usage: "remove unused contents; no service may use the archive"},
			&cli.BoolFlag{Name: "fix", Usage: "correct wrong numbers of pages; services may use the archive"},
			&cli.BoolFlag{Name: "json", Usage: "print a line of JSON for each finding, and one with the numbers"},
		),
		Action: adminVerify,
	}
}

func adminVerify(c *cli.Context) error {
	how := care.Verification{
		Fast: c.Bool("fast"), Grace: c.Duration("grace"), RemoveOrphans: c.Bool("remove-orphans"), Seen: &care.Progress{},
	}
	if how.Grace < 0 {
		return config.WrongOption("grace", "%s is no age", how.Grace)
	}
	for _, other := range []string{"backup", "fast"} {
		if c.Bool("fix") && c.IsSet(other) {
			return config.WrongTogether("%s does not go with %s", "fix", other)
		}
	}
	if c.IsSet("backup") {
		return verifyBackup(c, how)
	}
	place, err := readPlace(c)
	if err != nil {
		return err
	}
	if place.Database != "" && how.RemoveOrphans {
		return config.WrongTogether("%s does not go with %s: each service removes them itself, once a day", "remove-orphans", "database")
	}
	if place.Database != "" && !c.IsSet("grace") {
		how.Grace = sharedGrace
	}
	open := func() (*care.Archive, error) { return care.View(c.Context, place) }
	if how.RemoveOrphans {
		lock, err := lockArchive(place.Data)
		if err != nil {
			return err
		}
		defer lock.Release(!lock.Interrupted) //nolint:errcheck // it ends with the process
		how.Grace = 0                         // nobody uses it
		open = func() (*care.Archive, error) { return care.OpenData(c.Context, place.Data) }
	}
	archive, err := open()
	if err != nil {
		return err
	}
	defer archive.Close() //nolint:errcheck // changes are on disk
	if c.Bool("fix") {
		fixing, err := server.OpenAdmin(c.Context, server.Place{Data: place.Data, Database: place.Database})
		if err != nil {
			return err
		}
		defer fixing.Close() //nolint:errcheck // changes are on disk
		how.SetPages = fixing.SetPages
	}
	return verify(c, archive, how)
}

// sharedGrace is longer than the time for which services of one database keep an unused content.
const sharedGrace = 49 * time.Hour

// verifyBackup verifies a backup like an archive that is not in use.
func verifyBackup(c *cli.Context, how care.Verification) error {
	if how.RemoveOrphans {
		return config.WrongTogether("%s does not go with %s: the next backup removes what it does not need", "remove-orphans", "backup")
	}
	dir, err := filepath.Abs(c.String("backup"))
	if err != nil {
		return err
	}
	archive, err := care.ViewBackup(c.Context, dir)
	if err != nil {
		return err
	}
	defer archive.Close() //nolint:errcheck // it was only read
	return verify(c, archive, how)
}

// verify prints the findings and the totals.
func verify(c *cli.Context, archive *care.Archive, how care.Verification) error {
	all, err := archive.Store.Totals(c.Context)
	if err != nil {
		return err
	}
	bar, stop := watchCare(c, command.Backlog{What: "content", Uploads: int(all.Contents), Bytes: all.ContentBytes}, how.Seen)
	how.Found = func(f care.Finding) error {
		bar.End()
		return tellFinding(c, f)
	}
	result, err := archive.Verify(c.Context, how)
	stop()
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return tellVerified(c, result)
}

// lockArchive locks an existing archive against services.
func lockArchive(dir string) (*datalock.Lock, error) {
	if err := care.Exists(dir); err != nil {
		return nil, err
	}
	return datalock.Take(dir)
}

func tellFinding(c *cli.Context, f care.Finding) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(f)
	}
	_, err := fmt.Fprintln(c.App.Writer, f)
	return err
}

// tellVerified prints the totals and returns the exit status.
func tellVerified(c *cli.Context, result care.Verified) error {
	var err error
	if c.Bool("json") {
		err = json.NewEncoder(c.App.Writer).Encode(map[string]care.Verified{"verified": result})
	} else {
		_, err = fmt.Fprintf(c.App.Writer, "%s, %s, %s: %s\n", command.Plural(int(result.Documents), "document"),
			command.Plural(int(result.Contents), "content"), command.Size(result.Bytes), inFindings(result))
	}
	if err != nil || result.All() == 0 {
		return err
	}
	return command.ExitStatus(1)
}

// inFindings prints the findings in words.
func inFindings(result care.Verified) string {
	var parts []string
	for kind, n := range result.Findings {
		parts = append(parts, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(parts)
	text := strings.Join(parts, ", ")
	switch {
	case text == "":
		return "all is well"
	case result.Removed > 0:
		text += fmt.Sprintf("; %d removed", result.Removed)
	}
	if result.Fixed > 0 {
		text += fmt.Sprintf("; %d corrected", result.Fixed)
	}
	return text
}

func adminStatsCommand() *cli.Command {
	return &cli.Command{
		Name:        "stats",
		Usage:       "count what the archive holds",
		Description: "Services may use the archive meanwhile. The numbers are of all tenants.",
		Flags:       append(placeOfArchiveFlags(), command.JSONFlag()),
		Action:      adminStats,
	}
}

func adminStats(c *cli.Context) error {
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
		return command.PrintJSON(c, totals)
	}
	return printTotals(c, totals)
}

// byState is how many texts there are of each state.
func byState(texts map[store.Reading]int64) string {
	var parts []string
	for _, state := range []store.Reading{store.Read, store.NoText, store.Waiting, store.NoEngine, store.Unreadable} {
		if n := texts[state]; n > 0 || state == store.Read {
			parts = append(parts, humanize.Comma(n)+" "+string(state))
		}
	}
	return strings.Join(parts, ", ")
}

func printTotals(c *cli.Context, t store.Totals) error {
	number := humanize.Comma
	rows := [][]string{
		{"tenants", number(t.Tenants)},
		{"mandators", number(t.Mandators)},
		{"folders", number(t.Folders)},
		{"documents", number(t.Documents) + ", " + command.Size(t.Bytes)},
		{"contents", fmt.Sprintf("%s, %s; %s shared", number(t.Contents), command.Size(t.ContentBytes), number(t.SharedContents))},
		{"renditions", number(t.Renditions)},
		{"in the trash", number(t.Trash)},
		{"texts", byState(t.Texts)},
		{"inboxes", number(t.Inboxes)},
		{"inbox documents", number(t.InboxDocuments)},
	}
	if t.OldestInbox != nil {
		rows = append(rows, []string{"the oldest of", t.OldestInbox.Local().Format(time.DateTime)})
	}
	return command.PrintTable(c.App.Writer, rows)
}
