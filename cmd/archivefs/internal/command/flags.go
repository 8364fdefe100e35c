// Package command is shared by all commands: common options, their errors, and printing.
package command

import (
	"cmp"
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/credentials"
)

// SecretFlags are the options with a secret value.
var SecretFlags = []string{"api-key", "password", "database"}

// CredentialFlags are the options of the credentials; use says what the command does with them.
func CredentialFlags(use string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "api-key", EnvVars: Env("API_KEY"), Usage: use + " the API key `KEY`"},
		&cli.StringFlag{Name: "api-key-file", EnvVars: Env("API_KEY_FILE"), TakesFile: true, Usage: use + " the API key in `FILE`"},
		&cli.StringFlag{Name: "api-key-command", EnvVars: Env("API_KEY_COMMAND"), Usage: use + " the API key that `COMMAND` prints as its first line"},
		&cli.StringFlag{Name: "cloud-id", EnvVars: Env("CLOUD_ID"), Usage: use + " the cloud identifier `ID` beside the API key"},
		&cli.StringFlag{Name: "user", EnvVars: Env("USER"), Usage: use + " the user `NAME` and a password beside the API key"},
		&cli.StringFlag{Name: "password", EnvVars: Env("PASSWORD"), Usage: use + " the password `PASSWORD`"},
		&cli.StringFlag{Name: "password-file", EnvVars: Env("PASSWORD_FILE"), TakesFile: true, Usage: use + " the password in `FILE`"},
		&cli.StringFlag{Name: "password-command", EnvVars: Env("PASSWORD_COMMAND"), Usage: use + " the password that `COMMAND` prints as its first line"},
	}
}

// ReadCredentials reads the credentials of the options. The client and the service check whether they go together.
func ReadCredentials(c *cli.Context) (cred apiclient.Credentials, err error) {
	cred.CloudID, cred.User = c.String("cloud-id"), c.String("user")
	if cred.APIKey, err = Secret(c, "api-key"); err == nil {
		cred.Password, err = Secret(c, "password")
	}
	return cred, err
}

// Secret is the value of an option, the content of the file in its -file option, or the output of its -command option.
func Secret(c *cli.Context, name string) (string, error) {
	if err := OnlyOne(c, name); err != nil {
		return "", err
	}
	if file := c.String(name + "-file"); file != "" {
		return config.SecretFile(name+"-file", file)
	}
	line := c.String(name + "-command")
	if line == "" {
		return c.String(name), nil
	}
	ctx, cancel := context.WithTimeout(c.Context, credentials.CommandLimit)
	defer cancel()
	text, err := credentials.Command(ctx, line, os.Stdin, c.App.ErrWriter)
	if err != nil {
		return "", config.WrongOption(name+"-command", "%v", err)
	}
	return text, nil
}

// OnlyOne refuses a secret that is given in more than one way.
func OnlyOne(c *cli.Context, name string) error {
	given := ""
	for _, way := range []string{name, name + "-file", name + "-command"} {
		switch {
		case c.String(way) == "":
		case given != "":
			return config.WrongTogether("%s and %s say the same: give one of them", given, way)
		default:
			given = way
		}
	}
	return nil
}

// DrainFlag bounds how long something waits for uploads, as usage says.
func DrainFlag(usage string) cli.Flag {
	return &cli.DurationFlag{Name: "drain", EnvVars: Env("DRAIN"), Value: 2 * time.Minute, Usage: usage}
}

// ReadDrain is the value of --drain. A negative one is wrong.
func ReadDrain(c *cli.Context) (time.Duration, error) {
	d := c.Duration("drain")
	if d < 0 {
		return 0, config.WrongOption("drain", "a duration is not negative")
	}
	return d, nil
}

// ConnectionFlags are the address of a service and how to call it.
func ConnectionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "base-url", EnvVars: Env("BASE_URL"), Usage: "the archive service at `URL`; /api/v2 is appended when it is missing"},
		&cli.DurationFlag{Name: "retry-for", EnvVars: Env("RETRY_FOR"), Value: 3 * time.Second, Usage: "repeat a call for `DURATION` before it fails"},
		&cli.DurationFlag{Name: "timeout", EnvVars: Env("TIMEOUT"), Value: apiclient.DefaultStall, Usage: "give a request up that is not answered within `DURATION`, or moves less than 1 KiB a second of a content for so long"},
		&cli.IntFlag{Name: "connections", EnvVars: Env("CONNECTIONS"), Value: 16, Usage: "have at most `N` requests in flight"},
		&cli.StringFlag{Name: "proxy", EnvVars: Env("PROXY"), DefaultText: "as HTTPS_PROXY and NO_PROXY say", Usage: "call the service through the proxy at `URL`, or through none"},
		&cli.StringFlag{Name: "ca-file", EnvVars: Env("CA_FILE"), TakesFile: true, Usage: "trust the certificates in `FILE` beside the system's"},
		&cli.StringFlag{Name: "client-cert", EnvVars: Env("CLIENT_CERT"), TakesFile: true, Usage: "show the service the client certificate in `FILE`"},
		&cli.StringFlag{Name: "client-key", EnvVars: Env("CLIENT_KEY"), TakesFile: true, Usage: "key of the client certificate in `FILE`"},
	}
}

// DataFlag is the directory of the embedded service's archive; use says what the command does with it.
func DataFlag(use string) cli.Flag {
	return &cli.StringFlag{Name: "data", EnvVars: Env("DATA"), TakesFile: true, DefaultText: "archivefs in the XDG data home", Usage: use}
}

// StateDirFlag is the state directory.
func StateDirFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "state-dir", EnvVars: Env("STATE_DIR"), TakesFile: true, DefaultText: "one per archive in the XDG state and cache homes",
		Usage: "keep what waits to be archived, and the caches, in `DIR`",
	}
}

// ConfigFlag names another configuration file.
func ConfigFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "config", EnvVars: Env("CONFIG"), TakesFile: true, DefaultText: "the user's and the system's",
		Usage: "read the configuration `FILE` and no other",
	}
}

// JSONFlag is --json of a command that prints a table by default.
func JSONFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON instead of a table"}
}

// ProgressEvery is how often the backlog is counted.
const ProgressEvery = 200 * time.Millisecond

// Backlog is the remaining work.
type Backlog struct {
	What    string // what happens to the files; empty for uploads
	Uploads int
	Bytes   int64
	Rows    int64 // of a database, which are done last
}

// Add adds an upload of so many bytes.
func (b *Backlog) Add(bytes int64) {
	b.Uploads++
	b.Bytes += bytes
}

// String describes it in words.
func (b *Backlog) String() string {
	if b.Uploads == 0 && b.Rows > 0 {
		return Plural(int(b.Rows), "row")
	}
	return Plural(b.Uploads, cmp.Or(b.What, "upload")) + ", " + Size(b.Bytes)
}

// after is the backlog after some work is done.
func (b *Backlog) after(done Backlog) *Backlog {
	return &Backlog{What: b.What, Uploads: max(0, b.Uploads-done.Uploads), Bytes: max(0, b.Bytes-done.Bytes), Rows: max(0, b.Rows-done.Rows)}
}

// rowWork is how many bytes of a content take as long as a row.
const rowWork = 4 << 10

// work is the work in the unit of the bar: an upload without bytes counts, too.
func (b *Backlog) work() int64 { return b.Bytes + int64(b.Uploads) + b.Rows*rowWork }

// Progress shows a shrinking backlog in the last line of a terminal. Its methods may be called concurrently.
type Progress struct {
	terminal io.Writer

	mu sync.Mutex
	// bar is nil while nothing is shown.
	bar *progressbar.ProgressBar // +checklocks:mu
	// total is the most work so far.
	total int64 // +checklocks:mu
}

// NewProgress returns nil if out is no terminal.
func NewProgress(out io.Writer) *Progress {
	if IsTerminal(out) {
		return &Progress{terminal: out}
	}
	return nil
}

// IsTerminal reports whether out is a terminal.
func IsTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Show shows the current backlog. It ignores errors of the terminal.
func (p *Progress) Show(left *Backlog) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch work := left.work(); {
	case p.bar == nil:
		p.total = work
		p.bar = progressbar.NewOptions64(work, progressbar.OptionSetWriter(p.terminal),
			progressbar.OptionSetWidth(30), progressbar.OptionUseANSICodes(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(true))
	case work > p.total: // the work has grown
		p.total = work
		p.bar.ChangeMax64(work)
	}
	p.bar.Describe(left.String() + " left")
	_ = p.bar.Set64(p.total - left.work())
}

// Follow shows the backlog regularly until stop, which ends the line and the context of left.
// Without a terminal it does nothing.
func (p *Progress) Follow(ctx context.Context, all func(context.Context) Backlog, done func() Backlog) (stop func()) {
	if p == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all := all(ctx)
		tick := time.NewTicker(ProgressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				p.Show(all.after(done()))
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		p.End()
	}
}

// End removes the line, if there is one.
func (p *Progress) End() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

// Write writes above the line, for a log on the same terminal.
func (p *Progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	return p.terminal.Write(text)
}

// +checklocks:p.mu
func (p *Progress) clearLocked() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// Pause waits a moment before something is checked again, or returns the error of ctx.
func Pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
