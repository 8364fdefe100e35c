package main

import (
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

// manual writes, in mdoc(7), the parts of the manual that the commands and their options say.
type manual struct {
	app  *cli.App
	date time.Time
}

func (m manual) funcs() template.FuncMap {
	return template.FuncMap{
		"date":         func() string { return m.date.Format("January 2, 2006") },
		"version":      version,
		"synopsis":     m.synopsis,
		"commands":     m.commands,
		"options":      m.options,
		"keys":         m.keys,
		"mountOptions": m.mountOptions,
	}
}

// eachCommand calls f for each command that does something itself, with its full name.
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

// callOperands are the options and operands in the call of a command, a macro on each line.
func callOperands(c *cli.Command) string {
	text := ""
	if len(visible(c.Flags)) > 0 {
		text = ".Op Ar OPTION ...\n"
	}
	for _, field := range strings.Fields(c.ArgsUsage) {
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

// commands has a section for each command. The options of mount have one of their own.
func (m manual) commands() string {
	var b strings.Builder
	ofMount := visible(mountCommand().Flags)
	m.eachCommand(func(name string, c *cli.Command) {
		b.WriteString(".Ss " + name + "\n" + running(asSentence(c.Usage)))
		b.WriteString(paragraphs(c.Description))
		if c.Name == "mount" {
			b.WriteString(".Pp\nIts options are listed\n.Sx below ,\nunder\n.Sx OPTIONS OF MOUNT .\n")
			return
		}
		var own []cli.Flag
		var same []string
		for _, f := range visible(c.Flags) {
			if slices.ContainsFunc(ofMount, func(of cli.Flag) bool { return sameOption(f, of) }) {
				same = append(same, dashed(f.Names()[0]))
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

func sameOption(a, b cli.Flag) bool { return a.Names()[0] == b.Names()[0] && meaning(a) == meaning(b) }

// group is a group of the options of mount.
type group struct {
	title string
	flags []cli.Flag
}

// groups are all options of mount in groups.
func groups() []group {
	all := []group{
		{"The service", serviceFlags()},
		{"Credentials", credentialFlags("send")},
		{"What the mount shows, and to whom", viewFlags()},
		{"What is kept on this machine", storeFlags()},
	}
	var rest []cli.Flag
	for _, f := range mountCommand().Flags {
		grouped := slices.ContainsFunc(all, func(g group) bool {
			return slices.ContainsFunc(g.flags, func(of cli.Flag) bool { return sameOption(f, of) })
		})
		if !grouped {
			rest = append(rest, f)
		}
	}
	return append(all, group{"How it runs", rest})
}

// options lists the options of mount as on the command line.
func (m manual) options() string { return m.grouped(optionTag) }

// keys lists the options of mount as in a configuration file.
func (m manual) keys() string {
	known := map[string]config.Option{}
	for _, o := range fileOptions() {
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

// mountOptions lists the options of mount as in -o.
func (m manual) mountOptions() string {
	return m.grouped(func(f cli.Flag, value string) string {
		name := mountOption(f)
		if name == "" {
			return ""
		}
		if value != "" {
			return "Cm " + name + " Ns = Ns Ar " + value
		}
		return "Cm " + name
	})
}

// grouped lists the options of mount with a heading for each group. tag is the name of an
// option in mdoc, empty for one that has no place in the list.
func (m manual) grouped(tag func(f cli.Flag, value string) string) string {
	var b strings.Builder
	for _, g := range groups() {
		b.WriteString(".Ss " + g.title + "\n" + m.list(g.flags, tag))
	}
	return b.String()
}

// list is a list of options.
func (m manual) list(flags []cli.Flag, tag func(f cli.Flag, value string) string) string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds\n")
	for _, f := range visible(flags) {
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
		b.WriteString(".It " + name + "\n" + running(asSentence(meaning(f))))
		if byDefault := doc.GetDefaultText(); doc.TakesValue() && byDefault != "" {
			b.WriteString(running("Default: " + plain(byDefault) + "."))
		}
	}
	return b.String() + ".El\n"
}

// optionTag is an option as on the command line.
func optionTag(f cli.Flag, value string) string {
	var names []string
	for _, n := range f.Names() {
		names = append(names, "Fl "+roff(strings.TrimPrefix(dashed(n), "-")))
	}
	tag := strings.Join(names, " , ")
	if value != "" {
		tag += " Ar " + value
	}
	return tag
}
