package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Size parses a number of bytes with an optional unit: 4096, 512MB (powers of ten), 10GiB
// (powers of two). A number below 1024 without a unit is refused: a unit was forgotten.
func Size(option, s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > 1<<62 {
		return 0, WrongOption(option, "%q is no size; write for example 512MiB or 10GiB", s)
	}
	if plain, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil && 0 < plain && plain < 1024 {
		return 0, WrongOption(option, "%s is a number of bytes; write for example 10GiB", strings.TrimSpace(s))
	}
	return int64(n), nil
}

// Date parses a day, or a moment, in the given zone.
func Date(option, s string, zone *time.Location) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, WrongOption(option, "%q is no date; write for example 2024-12-31", s)
}

// Zone finds a time zone by its name; empty and "local" are the machine's own.
func Zone(option, s string) (*time.Location, error) {
	if s == "" || strings.EqualFold(s, "local") {
		return time.Local, nil // the documented default
	}
	zone, err := time.LoadLocation(s)
	if err != nil {
		return nil, WrongOption(option, "%q is no time zone; write for example Europe/Berlin", s)
	}
	return zone, nil
}

// List splits a comma-separated list, without blanks around and empty items.
func List(s string) []string {
	var items []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
