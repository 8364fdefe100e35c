// Package shell completes command lines for shells.
package shell

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/user"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
)

// CompleteCommand is called by the completions of all shells. The words come by standard input, not
// as operands: ps would show a secret among them.
func CompleteCommand(newApp func() *cli.App) *cli.Command {
	return &cli.Command{
		Name:   "complete",
		Hidden: true,
		Usage:  "tell a shell how a command line may go on",
		Description: "Standard input has the words after archivefs, each with a NUL at its end, up to the one at the\n" +
			"cursor. The first line of output is files, directories or none: what the shell offers, too. Each\n" +
			"further line is a word, a tab, and what it means.",
		Action: func(c *cli.Context) error {
			input, err := io.ReadAll(c.App.Reader)
			if err != nil {
				return err
			}
			words := strings.Split(strings.TrimSuffix(string(input), "\x00"), "\x00")
			_, err = io.WriteString(c.App.Writer, complete(newApp(), words).String())
			return err
		},
	}
}

// The kinds of paths that a shell adds to the words.
const (
	noPaths     = "none"
	files       = "files"
	directories = "directories"
)

// completion is the result of a completion.
type completion struct {
	word  string // the typed part of the word at the cursor
	paths string
	words [][2]string // and their meanings
}

// offer adds a word if it begins with the typed part.
func (o *completion) offer(word, meaning string) {
	if strings.HasPrefix(word, o.word) {
		o.words = append(o.words, [2]string{word, meaning})
	}
}

// String is what the completions read.
func (o *completion) String() string {
	var b strings.Builder
	b.WriteString(o.paths + "\n")
	for _, w := range o.words {
		fmt.Fprintf(&b, "%s\t%s\n", w[0], w[1])
	}
	return b.String()
}

// complete completes a command line. words are those after the name of the program; the last one is at the cursor.
func complete(app *cli.App, words []string) *completion {
	o := &completion{word: words[len(words)-1], paths: noPaths}
	before := words[:len(words)-1]
	if len(before) > 0 && before[0] == "help" { // archivefs help COMMAND
		path, commands, _ := cmdline.Descend(app, before[1:])
		if len(path) == len(before)-1 {
			o.commands(commands)
		}
		return o
	}
	path, commands, flags := cmdline.Descend(app, before)
	open, operands, ended := readLine(flags, before[len(path):])
	name, value, hasValue := strings.Cut(o.word, "=")
	switch {
	case open != nil:
		o.value(app, open, "", o.word)
	case !ended && strings.HasPrefix(o.word, "-") && hasValue:
		if f := cmdline.FlagNamed(flags, name); f != nil {
			o.value(app, f, name+"=", value)
		}
	case !ended && strings.HasPrefix(o.word, "-"):
		o.options(path, flags)
	case len(commands) > 0:
		o.commands(commands)
		if len(path) == 0 {
			o.offer("help", "explain a command")
		}
	default:
		o.operands(app, path, before, operands)
	}
	return o
}

// readLine reads the words after a command: the option whose value is at the cursor, if any, the
// operands, and whether options have ended.
func readLine(flags []cli.Flag, words []string) (open cli.Flag, operands []string, ended bool) {
	values := cmdline.TakesValue(flags)
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case ended || !strings.HasPrefix(word, "-") || word == "-":
			operands = append(operands, word)
		case word == "--":
			ended = true
		case !strings.Contains(word, "=") && values[strings.TrimLeft(word, "-")]:
			if i++; i == len(words) {
				return cmdline.FlagNamed(flags, word), operands, ended
			}
		}
	}
	return nil, operands, ended
}

func (o *completion) commands(commands []*cli.Command) {
	for _, c := range commands {
		if !c.Hidden {
			o.offer(c.Name, c.Usage)
		}
	}
}

func (o *completion) options(path []string, flags []cli.Flag) {
	all := cmdline.Visible(flags)
	if len(path) == 0 {
		all = append(all, cli.VersionFlag)
	}
	for _, f := range append(all, cli.HelpFlag) {
		for _, n := range f.Names() {
			o.offer(cmdline.Dashed(n), cmdline.Meaning(f))
		}
	}
}

// value offers values of an option; typed is the part of the value after before.
func (o *completion) value(app *cli.App, f cli.Flag, before, typed string) {
	for _, v := range valuesOf[f.Names()[0]] {
		o.offer(before+v, "")
	}
	switch doc, _ := f.(cli.DocGenerationFlag); {
	case f.Names()[0] == "o":
		o.mountOptions(app, before, typed)
	case doc != nil && strings.Contains(doc.GetUsage(), "`FILE`"):
		o.paths = files
	case doc != nil && strings.Contains(doc.GetUsage(), "`DIR`"):
		o.paths = directories
	}
}

// valuesOf are the values of the options that have only some.
var valuesOf = map[string][]string{
	"writes":          {"sync", "async"},
	"inbox-collision": {"replace", "number"},
	"notify":          {"auto", "none"},
	"content":         {string(fs.ContentAuto), string(fs.ContentOriginal), string(fs.ContentPDF), string(fs.ContentData)},
	"scope":           {string(server.ScopeRead), string(server.ScopeWrite), "read,write"},
	"log-level":       {"error", "warn", "info", "debug"},
	"log-format":      {"text", "json"},
	"log-to":          {"stderr", "journal", "syslog"},
}

// mountOptions completes the last option in the value of -o.
func (o *completion) mountOptions(app *cli.App, before, typed string) {
	before += typed[:strings.LastIndexByte(typed, ',')+1]
	o.offer(before+"ro", "refuse every change")
	_, _, flags := cmdline.Descend(app, []string{"mount"})
	for _, f := range cmdline.Visible(flags) {
		name := MountOption(f)
		if name == "" {
			continue
		}
		if cmdline.TakesValue([]cli.Flag{f})[f.Names()[0]] {
			name += "="
		}
		o.offer(before+name, cmdline.Meaning(f))
	}
}

// MountOption is the name of an option of mount in -o; empty for secrets, because everybody can read fstab(5).
func MountOption(f cli.Flag) string {
	if name := f.Names()[0]; name == "o" || slices.Contains(command.SecretFlags, name) {
		return ""
	}
	return cmdline.Underscored(f.Names()[0])
}

// operands completes the operand of the command at path, after other operands.
func (o *completion) operands(app *cli.App, path, before, operands []string) {
	for _, kind := range operandKinds(cmdline.CommandAt(app, path).ArgsUsage, len(operands)) {
		switch kind {
		case "PROFILE":
			found, _ := config.Load(configFiles(before), settings.FileOptions()) // archivefs config check reports what is wrong there
			for _, name := range found.Profiles() {
				o.offer(name, "profile")
			}
		case "MOUNTPOINT":
			o.paths = directories
			if path[0] != "mount" {
				for _, dir := range mounted.Archives() {
					o.offer(dir, "mounted archive")
				}
			}
		case "STATEDIR":
			for _, l := range mounted.LeftBehindAt("", "") {
				o.offer(l.State, command.Plural(l.Uploads, "upload")+" of a mount that has ended")
			}
		case "ID":
			if path[0] == "uploads" {
				o.uploads(app, path, before, operands)
			}
		case "DIR", "BACKUP":
			o.paths = directories
		case "FILE", "PATH":
			o.paths = files
		}
	}
}

// operandKinds returns the kinds of operand n by its name in the help text: [PROFILE] MOUNTPOINT
// has either first, and then a MOUNTPOINT. A|B is either, too.
func operandKinds(usage string, n int) (kinds []string) {
	fields := strings.Fields(usage)
	for i, field := range fields {
		name := strings.TrimSuffix(strings.Trim(field, "[]"), "...")
		last := i // the last place of the operand
		if strings.Contains(field, "...") {
			last = n
		}
		first := i
		for j := range i {
			if strings.HasPrefix(fields[j], "[") {
				first--
			}
		}
		if first <= n && n <= last {
			kinds = append(kinds, strings.Split(name, "|")...)
		}
	}
	return kinds
}

// configFiles are the configuration files for a command line.
func configFiles(words []string) []string {
	file := os.Getenv(command.Env("CONFIG")[0])
	for i, word := range words {
		if value, ok := strings.CutPrefix(word, "--config="); ok {
			file = value
		} else if word == "--config" && i+1 < len(words) {
			file = words[i+1]
		}
	}
	if file == "" {
		return config.Places()
	}
	return []string{seen(file)}
}

// seen expands a path as the shell will when it runs the command.
func seen(path string) string {
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, below)
		}
	}
	return path
}

// askPatience is how long a completion waits for a mount.
const askPatience = time.Second

// uploads offers the uploads of the place in the first operand, except those typed already. If
// there is no such place, or it does not answer, it offers none.
func (o *completion) uploads(app *cli.App, path, before, operands []string) {
	asked := make(chan []fs.UploadInfo, 1)
	go func() { asked <- listedAt(lineContext(app, path, before), seen(operands[0])) }()
	select {
	case list := <-asked:
		for i := range list {
			u := &list[i]
			command := path[len(path)-1]
			if slices.Contains(operands[1:], u.ID) || u.Directory && command == user.ExportCommand().Name ||
				u.State == fs.StateOpen || u.State == fs.StateLocal && command == user.RetryCommand().Name {
				continue
			}
			o.offer(u.ID, u.State+": "+u.Path)
		}
	case <-time.After(askPatience):
	}
}

// listedAt are the uploads of the place in an operand, if it answers.
func listedAt(c *cli.Context, operand string) []fs.UploadInfo {
	_, place, err := user.UploadsAt(c, operand)
	if err != nil {
		return nil
	}
	defer place.Close() //nolint:errcheck // nothing was decided
	return place.List()
}

// lineContext is the context of a command line that is not executed.
func lineContext(app *cli.App, path, before []string) *cli.Context {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range cmdline.CommandAt(app, path).Flags {
		_ = f.Apply(set) // the command reports a wrong environment
	}
	if line, err := cmdline.Arrange(app, append([]string{app.Name}, before...)); err == nil {
		_ = set.Parse(line[1+len(path):]) // and a wrong option
	}
	c := cli.NewContext(app, set, nil)
	c.Command = cmdline.CommandAt(app, path)
	return c
}
