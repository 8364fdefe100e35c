package sample

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// textSource makes a plain text file in UTF-8 with the line ends of a German office
// (CR LF).
func textSource(text string) source {
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
			return fmt.Errorf("writing text: %w", err)
		}
		return nil
	}
}

// csvSource makes a list with semicolons between its fields, as German spreadsheets
// write it (RFC 4180 but for the separator).
func csvSource(records [][]string) source {
	return func(w io.Writer) error {
		list := csv.NewWriter(w)
		list.Comma = ';'
		list.UseCRLF = true
		if err := list.WriteAll(records); err != nil {
			return fmt.Errorf("writing list: %w", err)
		}
		return nil
	}
}
