package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
)

// Handover is the input of a process in the background.
type Handover struct {
	Args        []string
	Credentials CallerCredentials
	Login       string // where the credentials are stored; empty if options name them
	Identity    string // by the user's word
}

// CallerCredentials are credentials without the methods that hide secrets from encoders.
type CallerCredentials struct{ APIKey, CloudID, User, Password string }

// Invocation is how the program was called, without its options.
type Invocation struct {
	Args  []string  // the command line
	Fake  bool      // only check the options
	Given *Handover // the handover in a process in the background, else nil
	// Again executes another command line in this process, and returns the exit status.
	Again func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

type invocationKey struct{}

// WithInvocation passes the invocation to the commands.
func WithInvocation(ctx context.Context, i *Invocation) context.Context {
	return context.WithValue(ctx, invocationKey{}, i)
}

// InvocationOf returns the invocation; never nil.
func InvocationOf(ctx context.Context) *Invocation {
	if i, ok := ctx.Value(invocationKey{}).(*Invocation); ok {
		return i
	}
	return &Invocation{}
}

// ExitStatus is an error that was printed already: the program ends with this status.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Version is the module's version in the build information, else the revision.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "development"
	}
	return "development-" + revision + dirty
}

// Env is the environment variable of an option.
func Env(name string) []string { return []string{"ARCHIVEFS_" + name} }

// Join joins texts into one sentence.
func Join(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "; ")
}

// Plain is a default without quotes, and with 1m for 1m0s.
func Plain(s string) string {
	if unquoted, err := strconv.Unquote(s); err == nil {
		return unquoted
	}
	if minutes, whole := strings.CutSuffix(s, "m0s"); whole {
		return minutes + "m"
	}
	return s
}

// Complain prints the error of the program to standard error. The journal shows it as an error.
func Complain(stderr io.Writer, format string, args ...any) {
	if isJournal, err := journal.StderrIsJournalStream(); err == nil && isJournal {
		stderr = prefixed{stderr, fmt.Sprintf("<%d>", journal.PriErr)}
	}
	Say(stderr, format, args...)
}

// prefixed writes each text behind a prefix.
type prefixed struct {
	io.Writer
	prefix string
}

// Write implements io.Writer.
func (w prefixed) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(append([]byte(w.prefix), p...))
	return max(0, n-len(w.prefix)), err
}

// PrintJSON writes v to standard output, indented.
func PrintJSON(c *cli.Context, v any) error {
	e := json.NewEncoder(c.App.Writer)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Say prints a sentence to standard error, in one line, with names escaped.
func Say(stderr io.Writer, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ") // joined errors
	fmt.Fprintf(stderr, "archivefs: %s\n", archive.Printable(text))      //nolint:errcheck // no place to report it
}

// Plural counts things: 1 document, 2 documents.
func Plural[N int | uint64](n N, word string) string { return english.Plural(int(n), word, "") }

// Doing counts things that do something: 1 upload waits, 2 uploads wait.
func Doing(n int, word, one, several string) string {
	return Plural(n, word) + " " + english.PluralWord(n, one, several)
}

// Size is a number of bytes for people: 1.5 MiB.
func Size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
