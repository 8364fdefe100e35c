// Package manual writes the manual and the completions, as packages install them. Only the program that
// scripts/package builds (tag packaging) has it.
package manual

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/shell"
	"github.com/archivefs/archivefs/internal/config"
)

// shared are the sources of the manual, in mdoc(7) with places for what the commands say of
// themselves, and of the completions.
//
//go:embed share
var shared embed.FS

// Command writes the files that packages install with the program.
func Command(newApp func() *cli.App) *cli.Command {
	return &cli.Command{
		Name:        "package-files",
		Hidden:      true,
		Usage:       "write the manual and the completions to DIR",
		ArgsUsage:   "DIR",
		Description: "The manual bears the date of $SOURCE_DATE_EPOCH, or of today.",
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return config.Usagef("package-files needs one DIR, and was given %d operands", c.NArg())
			}
			date, err := dateOfManual()
			if err != nil {
				return err
			}
			return writeShare(newApp(), c.Args().First(), date)
		},
	}
}

// dateOfManual is today, or the date of a reproducible build.
func dateOfManual() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Now(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, config.Usagef("SOURCE_DATE_EPOCH: %q is no number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// writeShare writes all files to dir.
func writeShare(app *cli.App, dir string, date time.Time) error {
	pages, err := template.New("").Funcs(manual{app, date}.funcs()).ParseFS(shared, "share/*.[1-9]")
	if err != nil {
		return err
	}
	entries, err := shared.ReadDir("share")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // all may read it
		return err
	}
	for _, e := range entries {
		text, err := shared.ReadFile("share/" + e.Name())
		if err != nil {
			return err
		}
		if page := pages.Lookup(e.Name()); page != nil {
			var b strings.Builder
			if err := page.Execute(&b, nil); err != nil {
				return fmt.Errorf("manual: %w", err)
			}
			text = []byte(b.String())
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o644); err != nil { //nolint:gosec // all may read it
			return err
		}
	}
	return nil
}

// manual writes the generated parts of the manual, in mdoc(7).
type manual struct {
	app  *cli.App
	date time.Time
}

func (m manual) funcs() template.FuncMap {
	return template.FuncMap{
		"date":         func() string { return m.date.Format("January 2, 2006") },
		"version":      command.Version,
		"synopsis":     m.synopsis,
		"commands":     m.commands,
		"options":      m.options,
		"keys":         m.keys,
		"mountOptions": m.mountOptions,
	}
}

// eachCommand calls f for each command with an action, with its full name.
func (m manual) eachCommand(f func(name string, c *cli.Command)) {
	var walk func(above string, commands []*cli.Command)
	walk = func(above string, commands []*cli.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			if len(c.Subcommands) == 0 {
				f(above+c.Name, c)
			}
			walk(above+c.Name+" ", c.Subcommands)
		}
	}
	walk("", m.app.Commands)
}

// synopsis has a line for each command.
func (m manual) synopsis() string {
	var b strings.Builder
	m.eachCommand(func(name string, c *cli.Command) {
		b.WriteString(".Nm\n.Cm " + name + "\n" + callOperands(c))
	})
	return b.String()
}

// callOperands are the options and operands in the synopsis of a command, a macro on each line.
func callOperands(c *cli.Command) string {
	text := ""
	if len(cmdline.Visible(c.Flags)) > 0 {
		text = ".Op Ar OPTION ...\n"
	}
	for field := range strings.FieldsSeq(c.ArgsUsage) {
		name, repeated := strings.CutSuffix(strings.Trim(field, "[]"), "...")
		macro := ".Ar " + name
		if strings.HasPrefix(field, "[") {
			macro = ".Op Ar " + name
		}
		if repeated {
			macro += " ..."
		}
		text += strings.ReplaceAll(macro, "|", " | ") + "\n"
	}
	return text
}

// commands writes a section for each command. The options of mount have their own.
func (m manual) commands() string {
	var b strings.Builder
	ofMount := cmdline.Visible(settings.Flags())
	m.eachCommand(func(name string, c *cli.Command) {
		b.WriteString(".Ss " + name + "\n" + running(asSentence(c.Usage)))
		b.WriteString(paragraphs(c.Description))
		if c.Name == "mount" {
			b.WriteString(".Pp\nIts options are listed\n.Sx below ,\nunder\n.Sx OPTIONS OF MOUNT .\n")
			return
		}
		var own []cli.Flag
		var same []string
		for _, f := range cmdline.Visible(c.Flags) {
			if slices.ContainsFunc(ofMount, func(of cli.Flag) bool { return sameOption(f, of) }) {
				same = append(same, cmdline.Dashed(f.Names()[0]))
			} else {
				own = append(own, f)
			}
		}
		switch {
		case len(same) == len(ofMount):
			b.WriteString(".Pp\nAll options of\n.Cm mount\nare taken, too.\n")
		case len(same) > 0:
			b.WriteString(".Pp\n" + running("These options mean the same as those of mount: "+strings.Join(same, ", ")+"."))
		}
		if len(own) > 0 {
			b.WriteString(m.list(own, optionTag))
		}
	})
	return b.String()
}

func sameOption(a, b cli.Flag) bool {
	return a.Names()[0] == b.Names()[0] && cmdline.Meaning(a) == cmdline.Meaning(b)
}

// options lists the options of mount, as on the command line.
func (m manual) options() string { return m.grouped(optionTag) }

// keys lists the options of mount, as in a configuration file.
func (m manual) keys() string {
	known := map[string]config.Option{}
	for _, o := range settings.FileOptions() {
		known[o.Name] = o
	}
	return m.grouped(func(f cli.Flag, value string) string {
		o, inFiles := known[f.Names()[0]]
		if !inFiles {
			return ""
		}
		tag := "Ic " + roff(o.Name) + " No = "
		switch o.Kind {
		case config.Switch:
			return tag + "Cm true | false"
		case config.Number:
			return tag + "Ar " + value
		}
		return tag + "Qq Ar " + value
	})
}

// mountOptions lists the options of mount, as in -o.
func (m manual) mountOptions() string {
	return m.grouped(func(f cli.Flag, value string) string {
		name := shell.MountOption(f)
		if name == "" {
			return ""
		}
		if value != "" {
			return "Cm " + name + " Ns = Ns Ar " + value
		}
		return "Cm " + name
	})
}

// grouped lists the options of mount by groups. tag returns the name of an option in mdoc, empty to leave it out.
func (m manual) grouped(tag func(f cli.Flag, value string) string) string {
	var b strings.Builder
	for _, g := range settings.Groups() {
		b.WriteString(".Ss " + g.Title + "\n" + m.list(g.Flags, tag))
	}
	return b.String()
}

// list is a list of options.
func (m manual) list(flags []cli.Flag, tag func(f cli.Flag, value string) string) string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds\n")
	for _, f := range cmdline.Visible(flags) {
		doc, ok := f.(cli.DocGenerationFlag)
		if !ok { // all flags of the library are
			continue
		}
		_, quoted, _ := strings.Cut(doc.GetUsage(), "`")
		value, _, _ := strings.Cut(quoted, "`")
		name := tag(f, value)
		if name == "" {
			continue
		}
		b.WriteString(".It " + name + "\n" + running(asSentence(cmdline.Meaning(f))))
		if byDefault := doc.GetDefaultText(); doc.TakesValue() && byDefault != "" {
			b.WriteString(running("Default: " + command.Plain(byDefault) + "."))
		}
	}
	return b.String() + ".El\n"
}

// optionTag is an option, as on the command line.
func optionTag(f cli.Flag, value string) string {
	var names []string
	for _, n := range f.Names() {
		names = append(names, "Fl "+roff(strings.TrimPrefix(cmdline.Dashed(n), "-")))
	}
	tag := strings.Join(names, " , ")
	if value != "" {
		tag += " Ar " + value
	}
	return tag
}

// asSentence makes a sentence of a usage text.
func asSentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if s == "" {
		return ""
	}
	return string(unicode.ToUpper(first)) + s[size:] + "."
}

// paragraphs formats a description: text, and indented examples.
func paragraphs(description string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(description, "\n\n") {
		switch {
		case part == "":
		case strings.HasPrefix(part, "   "):
			b.WriteString(".Bd -literal -offset indent\n")
			for line := range strings.SplitSeq(part, "\n") {
				b.WriteString(protect(roff(strings.TrimPrefix(line, "   "))) + "\n")
			}
			b.WriteString(".Ed\n")
		default:
			b.WriteString(".Pp\n" + running(part))
		}
	}
	return b.String()
}

// endOfSentence is followed by a new line in mdoc.
var endOfSentence = regexp.MustCompile(`(?:[a-z0-9)*]|[A-Z]{2})[.!?]$`)

// running wraps text at 78 bytes, with each sentence on a new line.
func running(text string) string {
	var b strings.Builder
	line := ""
	end := func() {
		if line != "" {
			b.WriteString(protect(line) + "\n")
		}
		line = ""
	}
	for word := range strings.FieldsSeq(text) {
		set := strings.NewReplacer(`\`, `\e`, "()", `\&()`).Replace(word) // () would look like a C function
		if strings.HasPrefix(strings.TrimLeft(word, `("`), "-") {         // an option, not a hyphen
			set = roff(word)
		}
		if line != "" && len(line)+1+len(set) > 78 {
			end()
		}
		line = strings.TrimPrefix(line+" "+set, " ")
		if endOfSentence.MatchString(word) {
			end()
		}
	}
	end()
	return b.String()
}

// roff escapes s for troff.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`).Replace(s)
}

// protect escapes a line of text that looks like a request.
func protect(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}
