package settings

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/query"
)

// Print prints a line for each option, in alphabetical order.
func (all *Choices) Print(c *cli.Context) error {
	var rows [][]string
	options := append(FileOptions(), config.Option{Name: config.Mountpoint})
	slices.SortFunc(options, func(a, b config.Option) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range options {
		value, chosen := all.Values[o.Name]
		text, source := value.Text, all.source(o.Name)
		switch {
		case !chosen:
			text = builtIn(c, o.Name)
		case o.Secret:
			text = "***"
		case strings.Contains(text, "://"): // this command does not check for a password in an address
			if u, err := url.Parse(text); err == nil {
				text = u.Redacted()
			}
		case o.Kind == config.Duration:
			text = command.Plain(text)
		}
		rows = append(rows, []string{o.Name, cmp.Or(text, "-"), source})
	}
	return command.PrintTable(c.App.Writer, rows)
}

// source says where the value of an option comes from.
func (all *Choices) source(name string) string {
	value, chosen := all.Values[name]
	if !chosen {
		return "built in"
	}
	at := fmt.Sprintf("%s:%d", value.File, value.Line)
	switch value.Source {
	case config.FromFlag:
		return "command line"
	case config.FromEnvironment:
		return "environment, " + VariableOf(name)
	case config.FromProfile:
		return "profile " + all.profile + ", " + at
	}
	return "for all, " + at
}

// builtIn is the default of an option in the help text; empty if it has none.
func builtIn(c *cli.Context, name string) string {
	if doc, ok := cmdline.FlagNamed(c.Command.Flags, name).(cli.DocGenerationFlag); ok {
		return command.Plain(doc.GetDefaultText())
	}
	return ""
}

// WrongValues checks each option of the files alone, and then each profile as a mount would, without the service and
// credential commands. The general part is such a mount, too, unless it leaves it to the profiles to name a service.
func WrongValues(files config.Files) (problems config.Problems) {
	for _, f := range files {
		layers := []config.Layer{f.Defaults}
		for _, p := range f.Profiles {
			layers = append(layers, p)
		}
		for _, layer := range layers {
			for name, value := range layer {
				problems = append(problems, try(name, value)...)
			}
		}
	}
	for _, f := range files {
		for _, searches := range f.Searches {
			for _, s := range searches {
				if _, err := query.Parse(s.Query); err != nil {
					problems = append(problems, config.Problem{File: s.File, Line: s.Line, Text: s.Name + ": " + err.Error()})
				}
			}
		}
	}
	for _, profile := range append([]string{""}, files.Profiles()...) {
		values := config.Merge(files.Layers(profile), Alternatives)
		if profile == "" && len(files.Profiles()) > 0 && values["base-url"].Text == "" && values["embedded"].Text != "true" { // no service to mount
			continue
		}
		problems = append(problems, wrongTogether(profile, values)...)
	}
	return problems
}

// wrongTogether returns the errors of the options of a profile together. After each error it
// continues without the option to blame, and does not report errors that may follow from that.
func wrongTogether(profile string, values config.Layer) (problems config.Problems) {
	blamed := map[string]bool{}
	for {
		all := &Choices{profile: profile, Values: values}
		mistake := all.mistake()
		if mistake == nil {
			return problems
		}
		name := all.toBlame(mistake)
		value := values[name]
		at, own := all.InFile(mistake)
		if !own {
			at = config.Problem{File: value.File, Line: value.Line, Text: mistake.Error()}
			if value.Source == config.FromProfile {
				at.Text = "profile " + profile + ": " + at.Text
			}
		}
		if !slices.ContainsFunc(mistake.Options, func(n string) bool { return blamed[n] }) {
			problems = append(problems, at)
		}
		if name == "" {
			return problems
		}
		for _, n := range mistake.Options {
			blamed[n] = true
		}
		delete(values, name)
	}
}

// try reads one option as a mount does and returns its own error. Other options that it needs may be missing.
func try(name string, value config.Value) config.Problems {
	all := &Choices{Values: config.Layer{name: value}}
	if mistake := all.mistake(); mistake != nil {
		if p, own := all.InFile(mistake); own {
			return config.Problems{p}
		}
	}
	return nil
}

// mistake is the first error of a mount with these options, or nil.
func (all *Choices) mistake() *config.UsageError {
	usage, _ := errors.AsType[*config.UsageError](all.read())
	return usage
}

// context is the context of a mount with these options.
func (all *Choices) context() (*cli.Context, error) {
	command := &cli.Command{Flags: Flags()}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, f := range command.Flags {
		if err := withoutEnvironment(f).Apply(set); err != nil {
			return nil, err
		}
	}
	c := cli.NewContext(&cli.App{Writer: io.Discard, ErrWriter: io.Discard}, set, nil)
	c.Command = command
	return c, all.apply(c)
}

// read reads the options with the code of mount. It checks the files of credentials, but does not
// run credential commands.
func (all *Choices) read() error {
	c, err := all.context()
	if err != nil {
		return err
	}
	s, err := ReadOptions(c, all.profile)
	if err != nil {
		return err
	}
	if err := s.ReadPeople(c.Context); err != nil {
		return err
	}
	if err := tryClient(s, apiclient.Credentials{CloudID: c.String("cloud-id"), User: c.String("user")}); err != nil {
		return err
	}
	for _, name := range command.SecretFlags {
		if err := command.OnlyOne(c, name); err != nil {
			return err
		}
		if path := c.String(name + "-file"); path != "" {
			if _, err := config.SecretFile(name+"-file", path); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryClient makes the client of a mount, without its secrets.
func tryClient(s *Mount, cred apiclient.Credentials) error {
	if s.Embedded {
		return nil
	}
	cred.APIKey = "unknown"
	if cred.User != "" {
		cred.Password = "unknown"
	}
	cfg := s.Client
	cfg.Credentials = cred
	client, err := apiclient.New(cfg)
	if err != nil {
		return WrongSetting(err)
	}
	client.Close()
	return nil
}

// withoutEnvironment makes a flag ignore the environment, which may differ where the file is used.
func withoutEnvironment(f cli.Flag) cli.Flag {
	switch f := f.(type) {
	case *cli.StringFlag:
		f.EnvVars = nil
	case *cli.BoolFlag:
		f.EnvVars = nil
	case *cli.IntFlag:
		f.EnvVars = nil
	case *cli.DurationFlag:
		f.EnvVars = nil
	}
	return f
}
