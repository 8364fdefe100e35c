// Package cmdline parses command lines as people write them, and explains them: help, and errors.
package cmdline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
)

// Arrange puts the options of a command line before its operands, where cli expects them, and
// expands the options inside -o. Words after "--" are operands.
func Arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	path, commands, flags := Descend(app, args[1:])
	values := TakesValue(flags)
	head := append([]string{}, args[:1+len(path)]...)
	var options, operands []string
	rest := args[1+len(path):]
	if len(commands) > 0 && len(rest) > 0 {
		switch {
		case rest[0] == "help":
			return helpFor(app, args[0], append(path, rest[1:]...))
		case !strings.HasPrefix(rest[0], "-"):
			return nil, noCommand(path, rest[0], commands)
		}
	}
	next := func() string {
		arg := rest[0]
		rest = rest[1:]
		return arg
	}
	for len(rest) > 0 {
		arg := next()
		switch {
		case arg == "--":
			operands, rest = append(operands, rest...), nil
		case !strings.HasPrefix(arg, "-") || arg == "-":
			operands = append(operands, arg)
		case arg == "-h" || arg == "-help" || arg == "--help":
			if len(commands) > 0 {
				return helpFor(app, args[0], append(path, rest...))
			}
			return append(head, "--help"), nil // with operands it would be a help request for those
		case values["o"] && isMountOption(arg):
			value := strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(arg, "-"), "o"), "=")
			if value == "" && len(rest) == 0 {
				return nil, config.Usagef("-o needs a value, as in -o ro,allow_other")
			}
			if value == "" {
				value = next()
			}
			more, err := config.MountOptions(value)
			if err != nil {
				return nil, err
			}
			options = append(options, more...)
		default:
			options = append(options, arg)
			if !strings.Contains(arg, "=") && values[strings.TrimLeft(arg, "-")] {
				if len(rest) == 0 {
					return nil, config.Usagef("%s needs a value", Dashed(strings.TrimLeft(arg, "-")))
				}
				options = append(options, next())
			}
		}
	}
	return append(append(append(head, options...), "--"), operands...), nil
}

// isMountOption reports whether arg is -o, with its value (-oVALUE, -o=VALUE) or without, or --o, which is the same.
func isMountOption(arg string) bool {
	if long, ok := strings.CutPrefix(arg, "--o"); ok {
		return long == "" || long[0] == '='
	}
	return strings.HasPrefix(arg, "-o")
}

// Descend follows the commands in a command line and returns them, with the commands and the flags of the last one.
func Descend(app *cli.App, args []string) (path []string, commands []*cli.Command, flags []cli.Flag) {
	commands, flags = app.Commands, app.Flags
	for len(args) > 0 {
		found := (&cli.App{Commands: commands}).Command(args[0])
		if found == nil {
			break
		}
		path, commands, flags, args = append(path, args[0]), found.Subcommands, found.Flags, args[1:]
	}
	return path, commands, flags
}

// TakesValue says for each name of an option whether a value follows it.
func TakesValue(flags []cli.Flag) map[string]bool {
	values := map[string]bool{}
	for _, f := range flags {
		_, isBool := f.(*cli.BoolFlag)
		for _, n := range f.Names() {
			values[n] = !isBool
		}
	}
	return values
}

// TakeSecrets returns a copy of the arguments and overwrites the secrets in the original, the
// memory that ps shows (proc_pid_cmdline(5)).
func TakeSecrets(args []string) []string {
	own := make([]string, len(args))
	for i, a := range args {
		own[i] = strings.Clone(a)
	}
	for i, a := range own {
		switch {
		case i > 0 && isSecret(own[i-1]):
			wipe(args[i])
		case holdsSecret(a):
			wipe(args[i][strings.IndexByte(a, '=')+1:])
		}
	}
	return own
}

// isSecret reports whether the value after the option arg is a secret. Those of -o and --proxy may contain one.
func isSecret(arg string) bool {
	name := strings.TrimLeft(arg, "-")
	return name != arg && (name == "o" || name == "proxy" || slices.Contains(command.SecretFlags, name))
}

// holdsSecret reports whether arg is an option with a secret value.
func holdsSecret(arg string) bool {
	name, _, ok := strings.Cut(arg, "=")
	return ok && isSecret(name) || strings.HasPrefix(arg, "-o") && strings.Contains(arg, "=")
}

// wipe overwrites the bytes of s, an argument of the process: these are in writable memory that the
// runtime does not copy.
func wipe(s string) {
	if s == "" {
		return
	}
	b := unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see above
	for i := range b {
		b[i] = 'x'
	}
}

// Underscored is the usual spelling of an option in -o.
func Underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }

// FlagNamed is the option with a name (with dashes), or nil.
func FlagNamed(flags []cli.Flag, word string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), strings.TrimLeft(word, "-")) {
			return f
		}
	}
	return nil
}

// Meaning is the usage text of an option, without the marks around its value.
func Meaning(f cli.Flag) string {
	if doc, ok := f.(cli.DocGenerationFlag); ok { // all flags of the library are
		return strings.ReplaceAll(doc.GetUsage(), "`", "")
	}
	return ""
}

// CommandAt is the command at a path, which must exist.
func CommandAt(app *cli.App, path []string) *cli.Command {
	_, commands, _ := Descend(app, path[:len(path)-1])
	return cmp.Or((&cli.App{Commands: commands}).Command(path[len(path)-1]), &cli.Command{})
}

// helpWidth is the length of the longest line in a help text.
const helpWidth = 100

// WriteHelp sets the help texts of the app and of the commands in a command line. The library does
// not wrap its own. Formatting those of all commands would take longer than most commands.
func WriteHelp(app *cli.App, args []string) {
	rows := append(commandRows(app.Commands), [2]string{"help", "explain a command, as in archivefs help uploads list"})
	flags := []cli.Flag{cli.VersionFlag}
	app.CustomAppHelpTemplate = helpText(app.Name, app.Usage, "COMMAND", app.Description, rows, flags)
	name, commands := app.Name, app.Commands
	for _, arg := range args {
		c := (&cli.App{Commands: commands}).Command(arg)
		if c == nil {
			return
		}
		name, commands = name+" "+c.Name, c.Subcommands
		operands := c.ArgsUsage
		if len(commands) > 0 {
			operands = "COMMAND"
		}
		c.CustomHelpTemplate = helpText(name, c.Usage, operands, c.Description, commandRows(commands), c.Flags)
	}
}

func commandRows(commands []*cli.Command) (rows [][2]string) {
	for _, c := range (&cli.Command{Subcommands: commands}).VisibleCommands() {
		rows = append(rows, [2]string{c.Name, c.Usage})
	}
	return rows
}

// helpText is the output of --help.
func helpText(name, usage, operands, description string, commands [][2]string, flags []cli.Flag) string {
	call := name + " [OPTION...]"
	if operands != "" {
		call += " " + operands
	}
	text := fmt.Sprintf("NAME:\n   %s - %s\n\nUSAGE:\n   %s\n", name, usage, call)
	if description != "" {
		text += "\nDESCRIPTION:\n   " + strings.ReplaceAll(strings.ReplaceAll(description, "\n", "\n   "), "   \n", "\n") + "\n"
	}
	if len(commands) > 0 {
		text += "\nCOMMANDS:\n" + table(commands)
	}
	rows := make([][2]string, 0, len(flags)+1)
	for _, f := range append(Visible(flags), cli.HelpFlag) {
		rows = append(rows, flagRow(f))
	}
	return text + "\nOPTIONS:\n" + table(rows)
}

// Visible are the options in the help text.
func Visible(flags []cli.Flag) []cli.Flag {
	return (&cli.Command{Flags: flags}).VisibleFlags()
}

// flagRow is an option with its value, and its meaning.
func flagRow(f cli.Flag) [2]string {
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok { // all flags of the library are
		return [2]string{f.String()}
	}
	var names []string
	for _, n := range f.Names() {
		names = append(names, Dashed(n))
	}
	name, text := strings.Join(names, ", "), doc.GetUsage()
	if before, rest, quoted := strings.Cut(text, "`"); quoted {
		value, after, _ := strings.Cut(rest, "`")
		name, text = name+" "+value, before+value+after
	}
	if byDefault := doc.GetDefaultText(); doc.TakesValue() && byDefault != "" {
		text += " (default " + command.Plain(byDefault) + ")"
	}
	for _, variable := range doc.GetEnvVars() {
		text += " [$" + variable + "]"
	}
	return [2]string{name, text}
}

// Dashed is the name of an option with its dashes.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// table formats rows in two columns and wraps the second one.
func table(rows [][2]string) string {
	first := 0
	for _, r := range rows {
		first = max(first, len(r[0]))
	}
	var b strings.Builder
	for _, r := range rows {
		line := fmt.Sprintf("   %-*s ", first, r[0])
		empty := len(line) + 1
		for word := range strings.FieldsSeq(r[1]) {
			if len(line)+1+len(word) > helpWidth {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", empty-1)
			}
			line += " " + word
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// helpFor turns the operands of help into a command line with --help.
func helpFor(app *cli.App, program string, names []string) ([]string, error) {
	path, commands, _ := Descend(app, names)
	if len(path) < len(names) && !strings.HasPrefix(names[len(path)], "-") {
		return nil, noCommand(path, names[len(path)], commands)
	}
	return append(append([]string{program}, path...), "--help"), nil
}
