package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server/care"
)

func adminBackupCommand() *cli.Command {
	return &cli.Command{
		Name:      "backup",
		Usage:     "copy the archive into a directory, while services go on",
		ArgsUsage: "BACKUP",
		Description: "The directory BACKUP then has the archive as it was at one moment after the call. Of an earlier\n" +
			"backup there the contents are not copied again, and it stays whole until the new one is. What\n" +
			"is interrupted is never taken for a backup. Exit status 1 also says that contents are damaged\n" +
			"or missing in the archive.",
		Flags:        append(placeOfArchiveFlags(), &cli.BoolFlag{Name: "json", Usage: "print the numbers as JSON"}),
		OnUsageError: usageError,
		Action:       adminBackup,
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
		OnUsageError: usageError,
		Action:       adminRestore,
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
	_, stop := watchCare(c, backlog{what: "content", uploads: int(manifest.Contents), bytes: manifest.Bytes}, &seen)
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

// archiveTotals is how much there is, for show alone.
func archiveTotals(c *cli.Context, place care.Place) backlog {
	all := backlog{what: "content"}
	if !isTerminal(c.App.ErrWriter) {
		return all
	}
	if a, err := care.View(c.Context, place); err == nil {
		defer a.Close() //nolint:errcheck // it was only read
		if totals, err := a.Store.Totals(c.Context); err == nil {
			all.uploads, all.bytes = int(totals.Contents), totals.ContentBytes
		}
	}
	return all
}

func tellCopied(c *cli.Context, done care.Copied) error {
	if c.Bool("json") {
		return printJSON(c, done)
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s, %s, %s, as of %s; %s copied\n", plural(int(done.Documents), "document"),
		plural(int(done.Contents), "content"), size(done.Bytes), done.Made.Local().Format("2006-01-02 15:04:05"), plural(int(done.Added), "content"))
	return err
}

// tellLacking names contents that could not be copied, and how to find out about their documents.
// It returns the exit status.
func tellLacking(c *cli.Context, lacking []string, where, look string) error {
	if len(lacking) == 0 {
		return nil
	}
	for _, digest := range lacking {
		complain(c.App.ErrWriter, "content %s is missing or damaged in %s", archive.Printable(digest), where)
	}
	complain(c.App.ErrWriter, "to see which documents need them: %s", look)
	return exitStatus(1)
}

// verifyBackupCommand and verifyPlaceCommand look closer. The address of a database may have a
// password in it.
func verifyBackupCommand(dir string) string {
	return "archivefs admin verify --backup " + archive.Printable(dir)
}

func verifyPlaceCommand(place care.Place) string {
	if place.Database != "" {
		return "archivefs admin verify, with --database and the like as here"
	}
	return "archivefs admin verify --data " + archive.Printable(place.Data)
}
