package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server/care"
	"github.com/archivefs/archivefs/internal/server/datalock"
)

func adminVerifyCommand() *cli.Command {
	return &cli.Command{
		Name:  "verify",
		Usage: "find out whether all contents and rows of the archive are whole",
		Description: "Reads every content and compares it with its SHA-256, every document with its content, and all\n" +
			"rows with the rules that they must follow. It changes nothing, and services may use the archive\n" +
			"meanwhile. A line on standard output names each finding and the documents it concerns; the last\n" +
			"line has the numbers. Exit status: 0 all is well, 1 something was found, 2 wrong usage.",
		Flags: append(placeOfArchiveFlags(),
			&cli.StringFlag{Name: "backup", TakesFile: true, Usage: "verify the one in the directory `BACKUP` instead"},
			&cli.BoolFlag{Name: "fast", Usage: "look whether contents are there and have their sizes, and do not read them"},
			&cli.DurationFlag{Name: "grace", Value: time.Hour, Usage: "report a content that nothing refers to once it is older than `DURATION`"},
			&cli.BoolFlag{Name: "remove-orphans", Usage: "remove contents that nothing refers to; no service may use the archive"},
			&cli.BoolFlag{Name: "json", Usage: "print a line of JSON for each finding, and one with the numbers"},
		),
		OnUsageError: usageError,
		Action:       adminVerify,
	}
}

func adminVerify(c *cli.Context) error {
	if c.Args().Present() {
		return config.Usagef("admin verify takes no operands, and was given %d", c.NArg())
	}
	how := care.Verification{
		Fast: c.Bool("fast"), Grace: c.Duration("grace"), RemoveOrphans: c.Bool("remove-orphans"), Seen: &care.Progress{},
	}
	if how.Grace < 0 {
		return config.Usagef("--grace: %s is no age", how.Grace)
	}
	if c.IsSet("backup") {
		return verifyBackup(c, how)
	}
	place, err := readPlace(c)
	if err != nil {
		return err
	}
	if place.Database != "" && how.RemoveOrphans {
		return config.Usagef("--remove-orphans does not go with --database: each service removes them itself, once a day")
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
		defer lock.Release(!lock.Interrupted) //nolint:errcheck // it goes with the process
		how.Grace = 0                         // nobody is about to use what is there
		open = func() (*care.Archive, error) { return care.OpenData(c.Context, place.Data) }
	}
	archive, err := open()
	if err != nil {
		return err
	}
	defer archive.Close() //nolint:errcheck // what was changed is on disk
	return verify(c, archive, how)
}

// sharedGrace is longer than services of one database leave an orphan alone.
const sharedGrace = 49 * time.Hour

// verifyBackup takes a backup for an archive that nobody uses.
func verifyBackup(c *cli.Context, how care.Verification) error {
	if how.RemoveOrphans {
		return config.Usagef("--remove-orphans does not go with --backup: the next backup removes what it does not need")
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

// verify tells what is found, and the numbers.
func verify(c *cli.Context, archive *care.Archive, how care.Verification) error {
	all, err := archive.Store.Totals(c.Context)
	if err != nil {
		return err
	}
	bar, stop := watchCare(c, backlog{what: "content", uploads: int(all.Contents), bytes: all.ContentBytes}, how.Seen)
	how.Found = func(f care.Finding) error {
		bar.end()
		return tellFinding(c, f)
	}
	result, err := archive.Verify(c.Context, how)
	stop()
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return tellVerified(c, result)
}

// lockArchive keeps services away from an archive that is there.
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

// tellVerified prints the numbers and returns the exit status.
func tellVerified(c *cli.Context, result care.Verified) error {
	var err error
	if c.Bool("json") {
		err = json.NewEncoder(c.App.Writer).Encode(map[string]care.Verified{"verified": result})
	} else {
		_, err = fmt.Fprintf(c.App.Writer, "%s, %s, %s: %s\n", plural(int(result.Documents), "document"),
			plural(int(result.Contents), "content"), size(result.Bytes), inFindings(result))
	}
	if err != nil || result.All() == 0 {
		return err
	}
	return exitStatus(1)
}

// inFindings says in words what was found.
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
		return text + fmt.Sprintf("; %d removed", result.Removed)
	}
	return text
}
