package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/config"
)

// blame says of a wrong option that a configuration file sets in which line it stands, where
// it has no dashes. Other errors stay as they are.
func (all *choices) blame(err error) error {
	var usage *config.UsageError
	if !errors.As(err, &usage) {
		return err
	}
	name, value, ok := all.named(usage.Reason)
	if !ok {
		return err
	}
	return config.Usagef("%s", problem(value, name, usage.Reason))
}

// named finds the option of a file that a sentence begins with.
func (all *choices) named(reason string) (name string, value config.Value, ok bool) {
	name, _, ok = strings.Cut(strings.TrimPrefix(reason, "--"), ": ")
	if !ok || !strings.HasPrefix(reason, "--") {
		return "", config.Value{}, false
	}
	value, ok = all.values[name]
	return name, value, ok && value.IsFromFile()
}

// mentioned are the options of files that a sentence mentions: first the one to blame, which is
// one of the profile rather than one for all, and the last of those.
func (all *choices) mentioned(reason string) []string {
	names := slices.DeleteFunc(optionsIn(reason), func(name string) bool {
		value, there := all.values[name]
		return !there || !value.IsFromFile()
	})
	slices.SortFunc(names, func(a, b string) int { return lastFirst(all.values[a], all.values[b]) })
	return names
}

// optionsIn are the names of the options that a sentence mentions.
func optionsIn(sentence string) (names []string) {
	for _, word := range strings.FieldsFunc(sentence, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') }) {
		if name, is := strings.CutPrefix(word, "--"); is {
			names = append(names, name)
		}
	}
	return names
}

// lastFirst orders what stands for fewer before what stands for more, and what stands below
// before what stands above.
func lastFirst(a, b config.Value) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(b.Line, a.Line))
}

// problem puts a sentence about an option into the words of a configuration file.
func problem(value config.Value, name, reason string) config.Problem {
	text := strings.TrimPrefix(reason, "--"+name+": ")
	return config.Problem{File: value.File, Line: value.Line, Text: name + ": " + text}
}

// isFile returns an error that names path unless it is a file.
func isFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	return err
}
