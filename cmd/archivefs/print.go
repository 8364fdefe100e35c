package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
)

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON instead of a table"}
}

func printJSON(c *cli.Context, v any) error {
	e := json.NewEncoder(c.App.Writer)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// say prints a sentence on standard error. Whatever it names, it is one line, and harmless.
func say(stderr io.Writer, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ") // errors that are joined
	fmt.Fprintf(stderr, "archivefs: %s\n", archive.Printable(text))      //nolint:errcheck // nowhere to say it
}

// plural counts things: 1 document, 2 documents.
func plural[N int | uint64](n N, word string) string { return english.Plural(int(n), word, "") }

// doing counts things that do something: 1 upload waits, 2 uploads wait.
func doing(n int, word, one, several string) string {
	return plural(n, word) + " " + english.PluralWord(n, one, several)
}

func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
