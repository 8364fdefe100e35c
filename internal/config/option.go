package config

import "slices"

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
