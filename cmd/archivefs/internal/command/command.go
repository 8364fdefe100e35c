package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/config"
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
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
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
	priority := ""
	if isJournal, err := journal.StderrIsJournalStream(); err == nil && isJournal {
		priority = fmt.Sprintf("<%d>", journal.PriErr)
	}
	sayBehind(priority, stderr, format, args...)
}

// PrintJSON writes v to standard output, indented.
func PrintJSON(c *cli.Context, v any) error {
	e := json.NewEncoder(c.App.Writer)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// PrintTable writes rows in columns.
func PrintTable(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t")) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// Say prints a sentence to standard error, in one line, with names escaped.
func Say(stderr io.Writer, format string, args ...any) { sayBehind("", stderr, format, args...) }

func sayBehind(priority string, stderr io.Writer, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")        // joined errors
	fmt.Fprintf(stderr, "%sarchivefs: %s\n", priority, archive.Printable(text)) //nolint:errcheck // no place to report it
}

// Plural counts things: 1 document, 2 documents.
func Plural[N int | uint64](n N, word string) string { return english.Plural(int(n), word, "") }

// Doing counts things that do something: 1 upload waits, 2 uploads wait.
func Doing(n int, word, one, several string) string {
	return Plural(n, word) + " " + english.PluralWord(n, one, several)
}

// Size is a number of bytes for people: 1.5 MiB.
func Size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// Asker asks for credentials: a person at a terminal, without showing typed secrets, or else
// standard input, which has one line for each.
type Asker struct {
	ctx    context.Context
	lines  *bufio.Reader // without a terminal
	fd     int
	person *term.Terminal // nil without a terminal
}

// NewAsker returns an asker on standard input, which prints to out.
func NewAsker(ctx context.Context, in io.Reader, out io.Writer) *Asker {
	a := &Asker{ctx: ctx}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		a.fd = int(f.Fd())
		a.person = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{in, out}, "")
		return a
	}
	a.lines = bufio.NewReader(in)
	return a
}

// Complete asks for missing credentials. Without a terminal it does not ask for the user: options must name it.
func (a *Asker) Complete(cred *apiclient.Credentials) error {
	var err error
	if a.person != nil && *cred == (apiclient.Credentials{}) {
		if cred.User, err = a.line("User (leave it empty when the service wants none): "); err != nil {
			return err
		}
		if cred.User == "" {
			if cred.CloudID, err = a.line("Cloud-ID (leave it empty when the service wants none): "); err != nil {
				return err
			}
		}
	}
	if cred.APIKey == "" {
		if cred.APIKey, err = a.secret("API key"); err != nil {
			return err
		}
	}
	if cred.User != "" && cred.Password == "" {
		cred.Password, err = a.secret("Password of " + cred.User)
	}
	return err
}

// secret asks for a secret.
func (a *Asker) secret(what string) (string, error) {
	text, err := a.unseen(what)
	if err == nil && text == "" && a.person == nil {
		return "", config.Usagef("a line of standard input is missing (%s); the API key comes first, and then the password of the user", what)
	}
	return text, err
}

// NewPassword asks for a new password; a person, twice.
func (a *Asker) NewPassword(user string) (string, error) {
	what := "Password of " + archive.Printable(user)
	text, err := a.unseen(what)
	if err != nil {
		return "", err
	}
	if text == "" {
		return "", config.Usagef("a user needs a password; it is the first line of standard input")
	}
	if a.person == nil {
		return text, nil
	}
	again, err := a.unseen("The same once more")
	if err == nil && again != text {
		err = errors.New("nothing was changed, because the two passwords differ")
	}
	return text, err
}

// unseen asks for something without showing it.
func (a *Asker) unseen(what string) (string, error) {
	if a.person != nil {
		return a.attended(func() (string, error) { return a.person.ReadPassword(what + ": ") })
	}
	text, err := a.lines.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// line asks a person and shows the input.
func (a *Asker) line(prompt string) (string, error) {
	return a.attended(func() (string, error) {
		a.person.SetPrompt(prompt)
		text, err := a.person.ReadLine()
		return strings.TrimSpace(text), err
	})
}

// attended asks a person and waits for the answer. It turns off the echo before it prints the
// question, and restores the terminal afterwards, even after a signal.
func (a *Asker) attended(read func() (string, error)) (text string, err error) {
	before, err := term.MakeRaw(a.fd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.Restore(a.fd, before)) }()
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := read()
		answers <- answer{text, err}
	}()
	select {
	case got := <-answers:
		if errors.Is(got.err, io.EOF) { // Ctrl-C or Ctrl-D
			return "", errors.New("nothing was kept, because the question was not answered")
		}
		return got.text, got.err
	case <-a.ctx.Done():
		return "", a.ctx.Err()
	}
}
