// Package config turns what a user says (flags, environment and configuration files) into
// validated settings, and keeps the directories in which a mount keeps its state. Its errors
// are sentences for people; those that a *UsageError wraps mean that nothing was begun.
//
// It has no list of options: the caller that reads a file passes them.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/xrash/smetrics"
)

// Kind is the kind of value that an option takes; it says how a file has to write it.
type Kind uint8

// The kinds of values.
const (
	Text     Kind = iota // "text"
	Switch               // true or false
	Number               // 16
	Duration             // "1m"
)

// Option is an option of the command line that a configuration file may set, too. Its name is the key.
type Option struct {
	Name   string
	Kind   Kind
	Path   bool // its value names a file or a directory
	Secret bool // its value is shown to nobody
}

// Mountpoint is the key with which a profile says where it is mounted. On the command line it is an argument.
const Mountpoint = "mountpoint"

// Source says which kind of place a value comes from, the strongest first.
type Source uint8

// The sources.
const (
	FromFlag        Source = iota // the command line
	FromEnvironment               // ARCHIVEFS_NAME
	FromProfile                   // [profile.NAME] of a file
	FromDefaults                  // the top of a file
)

// Value is what a source says about an option.
type Value struct {
	Text   string
	Source Source
	File   string // where it stands, for the last two sources
	Line   int
	// Mistyped says that a file has it with the wrong type, which is among the problems.
	Mistyped bool
}

// IsFromFile reports whether a configuration file says it.
func (v Value) IsFromFile() bool { return v.Source == FromProfile || v.Source == FromDefaults }

// Layer is what one source says, by the names of the options.
type Layer map[string]Value

// Merge lays layers over each other, the strongest first. Of options that say the same in different ways (alternatives)
// only those of one layer count, so that a key on the command line wins over a key file in a profile.
func Merge(layers []Layer, alternatives [][]string) Layer {
	all := Layer{}
	for _, layer := range layers {
		hidden := map[string]bool{}
		for _, group := range alternatives {
			if all.hasAny(group) {
				for _, name := range group {
					hidden[name] = true
				}
			}
		}
		for name, value := range layer {
			if _, there := all[name]; !there && !hidden[name] {
				all[name] = value
			}
		}
	}
	return all
}

// hasAny reports whether one of the options is chosen. One that is empty or switched off is none.
func (l Layer) hasAny(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return l[name].Text != "" && l[name].Text != "false"
	})
}

// ignored are options of mount(8), fstab(5) and fuse(8) that are for other programs, or have no effect here: the kernel
// checks permissions wherever other users have access, and a mount never has devices and setuid programs. Those with
// "=" have a value; the subtype is ours, and so is what is read at once. All other names are those of long options.
var ignored = strings.Fields(`auto noauto user nouser users owner group nofail _netdev comment= helper= uhelper= subtype= max-read=
	defaults rw suid nosuid dev nodev sync async dirsync default_permissions auto_unmount symfollow
	atime noatime relatime norelatime strictatime nostrictatime lazytime nolazytime diratime nodiratime
	iversion noiversion mand nomand silent loud`)

// option is one of -o. A backslash escapes a comma, and so do quotes around the value.
var option = regexp.MustCompile(`(?:="[^"]*"|\\[,\\]|[^,])+`)

// spelled are options of mount(8) that have another name as a long option.
var spelled = map[string]string{"ro": "--read-only", "exec": "--noexec=false"}

// MountOptions turns the value of -o ("a,b=c", a comma inside a value written "\,", or the value in double
// quotes) into long options. Names may be spelled with "_" for "-", as mount programs do.
func MountOptions(s string) ([]string, error) {
	var flags []string
	for _, o := range option.FindAllString(s, -1) {
		o = strings.TrimSpace(o)
		name, value, hasValue := strings.Cut(o, "=")
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		} else {
			value = strings.NewReplacer(`\,`, `,`, `\\`, `\`).Replace(value)
		}
		name = strings.ReplaceAll(name, "_", "-")
		switch {
		case o == "", slices.Contains(ignored, o), slices.Contains(ignored, name+"="), strings.HasPrefix(strings.ToLower(name), "x-"):
		case name == "":
			return nil, Usagef("-o: an option has no name before its \"=\"") // its text may hold secrets
		case o == "remount":
			return nil, Usagef("-o remount: a mount keeps the options that it has; unmount it, and mount it again")
		case spelled[o] != "":
			flags = append(flags, spelled[o])
		case hasValue:
			flags = append(flags, "--"+name+"="+value)
		default:
			flags = append(flags, "--"+name)
		}
	}
	return flags, nil
}

// Meant names the candidate that is most like name, as a remark for the end of a sentence;
// it is empty when none is like it.
func Meant(name string, candidates []string) string {
	const alike, boost, prefix = 0.85, 0.7, 4 // of smetrics.JaroWinkler, which ends at 1
	best, likeness := "", alike
	for _, c := range candidates {
		if l := smetrics.JaroWinkler(strings.ToLower(name), strings.ToLower(c), boost, prefix); l > likeness {
			best, likeness = c, l
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// Section is a section of a file that has nothing but sections, each with a name and options.
type Section struct {
	Name   string
	Line   int
	Values Layer
}

// Sections reads a file of sections. Only root and whoever runs the program may be able to change it,
// because it says who is who.
func Sections(path string, options []Option) ([]Section, Problems) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, Problems{{path, 0, reason(err)}}
	}
	defer f.Close() //nolint:errcheck // it was only read
	if err := keptFromOthers(f); err != nil {
		return nil, Problems{{path, 0, err.Error()}}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, Problems{{path, 0, reason(err)}}
	}
	sections, problems := ParseSections(path, text, options)
	return sections, problems.Sort()
}

// keptFromOthers refuses a file that another user than root and that of this process can change.
func keptFromOthers(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode()
	if !mode.IsRegular() {
		return errors.New("it is no file")
	}
	if mode.Perm()&0o022 != 0 {
		return fmt.Errorf("others can write to it (%v); chmod go-w %s", mode.Perm(), f.Name())
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if ok && owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to the user %d, who can change it; as root, chown root %s", owner.Uid, f.Name())
	}
	return nil
}

// ParseSections reads the text of a file of sections.
func ParseSections(path string, text []byte, options []Option) ([]Section, Problems) {
	p := &parser{file: &File{Path: path}, options: map[string]Option{}}
	for _, o := range options {
		p.options[o.Name] = o
	}
	var sections []Section
	p.toml.Reset(p.syntax(text))
	for p.toml.NextExpression() {
		e := p.toml.Expression()
		parts, line := p.key(e)
		switch name := strings.Join(parts, "."); {
		case e.Kind == unstable.Table && len(parts) == 1 && name != "":
			sections = append(sections, Section{name, line, Layer{}})
		case e.Kind == unstable.Table, e.Kind == unstable.ArrayTable:
			p.wrong(line, "[%s] is no section; write a name with dots or other signs in quotes: [%q]", name, name)
			sections = append(sections, Section{}) // which takes what belongs to it
		case e.Kind != unstable.KeyValue:
		case len(sections) == 0:
			p.wrong(line, "%s: it belongs into a section, [NAME]", name)
		case sections[len(sections)-1].Name == "":
		case len(parts) != 1 || p.options[name].Name == "":
			p.wrong(line, "there is no key %q%s", name, Meant(name, p.names()))
		default:
			p.option(sections[len(sections)-1].Values, FromProfile, name, line, e.Value())
		}
	}
	return slices.DeleteFunc(sections, func(s Section) bool { return s.Name == "" }), p.problems
}

// names are the names of the options.
func (p *parser) names() []string { return slices.Sorted(maps.Keys(p.options)) }

// Problem is what is wrong in a configuration file, and where.
type Problem struct {
	File string
	Line int // 0 for the file as a whole
	Text string
}

// String is the problem as compilers write theirs: FILE:LINE: TEXT.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems are all that is wrong in the configuration, or nothing.
type Problems []Problem

// Error returns nil when nothing is wrong, else a *UsageError with the first problem and how to see the others.
func (all Problems) Error() error {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return Usagef("%s", all[0])
	}
	return &UsageError{Reason: all[0].String() + " (and more: archivefs config check shows all)", More: true}
}

// Sort puts the problems of each file into the order of its lines, and drops repeated ones.
func (all Problems) Sort() Problems {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	seen := map[Problem]bool{}
	return slices.DeleteFunc(all, func(p Problem) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}

// UsageError says that the program was called wrongly. Nothing was sent or written.
type UsageError struct {
	Option  string   // the option whose value is wrong by itself, without dashes; empty for any other mistake
	Options []string // all options that the mistake is about, without dashes; of one option, that one
	Reason  string   // a sentence, without the name of Option
	More    bool     // the configuration files have further mistakes, as Reason says
}

// Error implements error.
func (e *UsageError) Error() string {
	if e.Option == "" {
		return e.Reason
	}
	return "--" + e.Option + ": " + e.Reason
}

// Usagef makes a UsageError that is about no option.
func Usagef(format string, args ...any) error {
	return &UsageError{Reason: fmt.Sprintf(format, args...)}
}

// WrongOption makes the UsageError of an option whose value is wrong by itself.
func WrongOption(option, format string, args ...any) error {
	return &UsageError{Option: option, Options: []string{option}, Reason: fmt.Sprintf(format, args...)}
}

// WrongTogether makes the UsageError of options that do not go together. The format has a %s for
// each of them, which is its name with dashes.
func WrongTogether(format string, options ...string) error {
	names := make([]any, len(options))
	for i, o := range options {
		names[i] = "--" + o
	}
	return &UsageError{Options: options, Reason: fmt.Sprintf(format, names...)}
}

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
