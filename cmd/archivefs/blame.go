package main

import (
	"errors"
	"fmt"
	"os"
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

// mentioned is where the options of files stand that a sentence mentions: the one of a profile
// rather than one for all, and the last of those.
func (all *choices) mentioned(reason string) (at config.Value) {
	for _, word := range strings.FieldsFunc(reason, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') }) {
		value, there := all.values[strings.TrimPrefix(word, "--")]
		if there && strings.HasPrefix(word, "--") && value.IsFromFile() && (at.File == "" || before(at, value)) {
			at = value
		}
	}
	return at
}

// before reports whether a stands for more than b, or in front of it.
func before(a, b config.Value) bool {
	return a.Source > b.Source || a.Source == b.Source && a.Line < b.Line
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
