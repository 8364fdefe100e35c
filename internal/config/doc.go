// Package config turns what a user says (flags, environment and configuration files) into
// validated settings, and keeps the directories in which a mount keeps its state. Its errors
// are sentences for people; those that a *UsageError wraps mean that nothing was begun.
//
// It has no list of options: the caller that reads a file passes them.
package config

import "fmt"

// UsageError says that the program was called wrongly. Nothing was sent or written.
type UsageError struct{ Reason string }

// Error implements error.
func (e *UsageError) Error() string { return e.Reason }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{Reason: fmt.Sprintf(format, args...)}
}
