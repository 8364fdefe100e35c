package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// completeCommand is what the completions of all shells ask, so that they know the same. The
// words come by standard input and not as operands: one of them may be a secret, which ps
// would show.
func completeCommand() *cli.Command {
	return &cli.Command{
		Name:   "complete",
		Hidden: true,
		Usage:  "tell a shell how a command line may go on",
		Description: "Standard input has the words after archivefs, each with a NUL at its end, up to the one at the\n" +
			"cursor. The first line of output is files, directories or none: what the shell offers, too. Each\n" +
			"further line is a word, a tab, and what it means.",
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			input, err := io.ReadAll(c.App.Reader)
			if err != nil {
				return err
			}
			words := strings.Split(strings.TrimSuffix(string(input), "\x00"), "\x00")
			_, err = io.WriteString(c.App.Writer, complete(newApp(nil, nil), words).String())
			return err
		},
	}
}

// The kinds of paths that a shell offers beside the words.
const (
	noPaths     = "none"
	files       = "files"
	directories = "directories"
)

// completion is how a command line may go on.
type completion struct {
	word  string // what is typed of the word at the cursor
	paths string
	words [][2]string // and what they mean
}

// offer adds a word if it begins like what is typed.
func (o *completion) offer(word, meaning string) {
	if strings.HasPrefix(word, o.word) {
		o.words = append(o.words, [2]string{word, meaning})
	}
}

func (o *completion) String() string {
	var b strings.Builder
	b.WriteString(o.paths + "\n")
	for _, w := range o.words {
		fmt.Fprintf(&b, "%s\t%s\n", w[0], w[1])
	}
	return b.String()
}

// complete says how a command line may go on. words follow the name of the program; the last
// one is at the cursor.
func complete(app *cli.App, words []string) *completion {
	o := &completion{word: words[len(words)-1], paths: noPaths}
	before := words[:len(words)-1]
	if len(before) > 0 && before[0] == "help" { // archivefs help COMMAND
		path, commands, _ := descend(app, before[1:])
		if len(path) == len(before)-1 {
			o.commands(commands)
		}
		return o
	}
	path, commands, flags := descend(app, before)
	open, operands, ended := readLine(flags, before[len(path):])
	name, value, hasValue := strings.Cut(o.word, "=")
	switch {
	case open != nil:
		o.value(app, open, "", o.word)
	case !ended && strings.HasPrefix(o.word, "-") && hasValue:
		if f := flagNamed(flags, name); f != nil {
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

// readLine reads the words after a command: the option whose value is at the cursor, if
// that is so, the operands, and whether options have ended.
func readLine(flags []cli.Flag, words []string) (open cli.Flag, operands []string, ended bool) {
	values := takesValue(flags)
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case ended || !strings.HasPrefix(word, "-") || word == "-":
			operands = append(operands, word)
		case word == "--":
			ended = true
		case !strings.Contains(word, "=") && values[strings.TrimLeft(word, "-")]:
			if i++; i == len(words) {
				return flagNamed(flags, word), operands, ended
			}
		}
	}
	return nil, operands, ended
}

// flagNamed is the option that a word with dashes names, or nil.
func flagNamed(flags []cli.Flag, word string) cli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == strings.TrimLeft(word, "-") {
				return f
			}
		}
	}
	return nil
}
