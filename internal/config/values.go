package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// Rate is Size for bytes a second, zero for an empty text.
func Rate(option, s string) (int64, error) {
	n, err := Size(option, cmp.Or(s, "0"))
	if err != nil {
		return 0, WrongOption(option, "%q is no rate; write for example 500K or 2MiB", s)
	}
	return n, nil
}

// Choice refuses a value that is none of those that an option can have.
func Choice(option, s string, of ...string) error {
	switch {
	case slices.Contains(of, s):
		return nil
	case len(of) == 2:
		return WrongOption(option, "%q is neither %s nor %s", s, of[0], of[1])
	}
	return WrongOption(option, "%q is none of %s", s, strings.Join(of, ", "))
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

// Zone finds a time zone by its name, or by a rule of tzset(3); empty and "local" are the machine's own.
func Zone(option, s string) (*time.Location, error) {
	if s == "" || strings.EqualFold(s, "local") {
		return time.Local, nil // the documented default
	}
	if zone := zoneOf(s); zone != nil {
		return zone, nil
	}
	return nil, WrongOption(option, "%q is not a time zone; write for example Europe/Berlin, or CET-1CEST,M3.5.0,M10.5.0/3", s)
}

// LocalZone makes the zone that TZ names the machine's own where the standard library does not know it and
// takes UTC: a rule of tzset(3). The error says that TZ names no zone, so that times are those of UTC.
func LocalZone() error {
	name := strings.TrimPrefix(os.Getenv("TZ"), ":")
	if name == "" || name == "UTC" || time.Local.String() != "UTC" {
		return nil
	}
	zone := zoneOf(name)
	if zone == nil {
		return fmt.Errorf("the environment has TZ=%s, which is not a time zone, so all times are those of UTC; set it for example to Europe/Berlin", name)
	}
	time.Local = zone
	return nil
}

// rule is a rule of tzset(3), which begins with a name and an offset. The standard library takes stranger names.
var rule = regexp.MustCompile(`^([A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)[+-]?[0-9][A-Za-z0-9<>+,./:-]*$`)

// zoneOf returns a time zone, nil if there is none. The standard library reads rules only as the last line of a
// file (RFC 9636). So it gets a file of two headers, one zone and that line; the zone, which has no name, is what
// is left if the rule is wrong.
func zoneOf(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	zeros := strings.Repeat("\x00", 39)
	file := "TZif2" + zeros + "TZif2" + zeros[:31] + "\x00\x00\x00\x01\x00\x00\x00\x01" + zeros[:7] + "\n" + name + "\n"
	zone, _ := time.LoadLocationFromTZData(name, []byte(file)) // which is well-formed
	if abbreviation, _ := time.Now().In(zone).Zone(); abbreviation == "" || !rule.MatchString(name) {
		return nil
	}
	return zone
}

// List splits a comma-separated list, without blanks around and empty items.
func List(s string) []string { return listed.FindAllString(s, -1) }

// listed is an item of a list.
var listed = regexp.MustCompile(`[^,\s]([^,]*[^,\s])?`)

// SecretFile reads a secret from a file; a trailing newline does not count. A file that
// others can read keeps no secret, and is refused.
func SecretFile(option, path string) (string, error) {
	secret, err := ReadSecret(path)
	if err != nil {
		return "", WrongOption(option, "%v", err)
	}
	return secret, nil
}

// ReadSecret is SecretFile for a file that no option names.
func ReadSecret(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if err := keptSecret(info, path); err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return secret, nil
}

// keptSecret refuses a file whose mode lets others read it. Its group may when root owns it:
// that is how administrators give a service its keys, and systemd its credentials. The mode of
// what is no ordinary file, as a pipe, does not count.
func keptSecret(info os.FileInfo, path string) error {
	const group, others = 0o040, 0o004
	mode := info.Mode()
	owner, known := info.Sys().(*syscall.Stat_t)
	if !mode.IsRegular() || mode&(group|others) == 0 || mode&others == 0 && known && owner.Uid == 0 {
		return nil
	}
	return errors.New("others can read " + path + " (" + mode.String() + "); keep it to yourself: chmod 600 " + path)
}
