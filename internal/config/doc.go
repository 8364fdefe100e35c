// Package config turns what a user says (flags, environment and configuration files) into
// validated settings, and keeps the directories in which a mount keeps its state. Its errors
// are sentences for people; those that a *UsageError wraps mean that nothing was begun.
//
// It has no list of options: the caller that reads a file passes them.
package config

import "fmt"

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
