package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

// shared are the sources of the manual, in mdoc(7) with places for what the commands say of
// themselves, and of the completions.
//
//go:embed share
var shared embed.FS

// shareCommand writes what packages install beside the program.
func shareCommand() *cli.Command {
	return &cli.Command{
		Name:         "share",
		Hidden:       true,
		Usage:        "write the manual and the completions to DIR",
		ArgsUsage:    "DIR",
		Description:  "The manual bears the date of $SOURCE_DATE_EPOCH, or of today.",
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return config.Usagef("share needs one DIR, and was given %d operands", c.NArg())
			}
			date, err := dateOfManual()
			if err != nil {
				return err
			}
			return writeShare(newApp(nil, nil), c.Args().First(), date)
		},
	}
}

// dateOfManual is today, or the day that a reproducible build names.
func dateOfManual() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Now(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, config.Usagef("SOURCE_DATE_EPOCH: %q is no number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// writeShare writes all files to dir.
func writeShare(app *cli.App, dir string, date time.Time) error {
	pages, err := template.New("").Funcs(manual{app, date}.funcs()).ParseFS(shared, "share/*.[1-9]")
	if err != nil {
		return err
	}
	entries, err := shared.ReadDir("share")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // all may read it
		return err
	}
	for _, e := range entries {
		text, err := shared.ReadFile("share/" + e.Name())
		if err != nil {
			return err
		}
		if page := pages.Lookup(e.Name()); page != nil {
			var b strings.Builder
			if err := page.Execute(&b, nil); err != nil {
				return fmt.Errorf("manual: %w", err)
			}
			text = []byte(b.String())
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o644); err != nil { //nolint:gosec // all may read it
			return err
		}
	}
	return nil
}
