package command

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/config"
)

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

// Complete asks for missing credentials. Without a terminal it does not ask for the user: options
// must name it.
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
