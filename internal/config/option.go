package config

import (
	"regexp"
	"slices"
	"strings"

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

// Option is an option of the command line that a configuration file may set, too. Its name
// is the key.
type Option struct {
	Name   string
	Kind   Kind
	Path   bool // its value names a file or a directory
	Secret bool // its value is shown to nobody
}

// Mountpoint is the key with which a profile says where it is mounted. On the command line it is
// an argument.
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

// Merge lays layers over each other, the strongest first. Of options that say the same in
// different ways (alternatives) only those of one layer count, so that a key on the command
// line wins over a key file in a profile.
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

// hasAny reports whether one of the options is chosen. One that is empty or switched off is
// none.
func (l Layer) hasAny(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return l[name].Text != "" && l[name].Text != "false"
	})
}

// ignored are options of mount(8), fstab(5) and fuse(8) that are for other programs, or have no
// effect here: the kernel checks permissions wherever other users have access, and a mount never
// has devices and setuid programs. Those with "=" have a value; the subtype is ours, and so is what is
// read at once. All other names are those of long options.
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
