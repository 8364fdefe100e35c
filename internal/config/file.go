package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// File is a configuration file: options for all, and options for profiles.
type File struct {
	Path     string
	Defaults Layer
	Profiles map[string]Layer
	// Searches are the saved searches of each profile; those for all are under the empty name.
	Searches map[string][]Search
}

// profileKey begins the keys of profiles.
const profileKey = "profile"

// parser reads one file. It goes on after a mistake, so that a person sees all of them, and
// keeps the line of each value, which decoding into a map does not.
type parser struct {
	file     *File
	options  map[string]Option
	toml     unstable.Parser
	section  []string // of the keys that come next
	ignored  bool     // the section is a problem itself, and not read
	problems Problems
}

// Parse reads the text of a file. Keys are the names of the options; a profile is a section
// [profile.NAME], and saved searches are in [searches] and [profile.NAME.searches].
func Parse(path string, text []byte, options []Option) (*File, Problems) {
	p := &parser{
		file:    &File{Path: path, Defaults: Layer{}, Profiles: map[string]Layer{}, Searches: map[string][]Search{}},
		options: map[string]Option{},
	}
	for _, o := range options {
		p.options[o.Name] = o
	}
	p.toml.Reset(p.syntax(text))
	for p.toml.NextExpression() {
		switch e := p.toml.Expression(); e.Kind {
		case unstable.KeyValue:
			if !p.ignored {
				p.keyValue(e)
			}
		case unstable.Table, unstable.ArrayTable:
			p.head(e)
		}
	}
	return p.file, p.problems
}

// syntax notes lines that are no TOML and keys that are repeated, and returns the text without
// those lines. It ends before a line that leaves open where the next ones belong.
func (p *parser) syntax(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for last := 0; ; {
		err := toml.Unmarshal(bytes.Join(lines, nil), &map[string]any{})
		if err == nil {
			return bytes.Join(lines, nil)
		}
		at, reason := 0, err.Error()
		if wrong := new(toml.DecodeError); errors.As(err, &wrong) {
			at, _ = wrong.Position()
			reason = strings.TrimPrefix(wrong.Error(), "toml: ")
		}
		p.wrong(at, "this is no TOML: %s", reason)
		if at <= last || at > len(lines) {
			return nil
		}
		if before, line := bytes.Join(lines[:at-1], nil), lines[at-1]; bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) ||
			isTOML(line) && !isTOML(before) { // the mistake is in a line above it
			return before
		}
		last, lines[at-1] = at, []byte("\n")
	}
}

func isTOML(text []byte) bool { return toml.Unmarshal(text, &map[string]any{}) == nil }

func (p *parser) wrong(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.file.Path, line, fmt.Sprintf(format, args...)})
}

// key returns the parts of a dotted key, and its line.
func (p *parser) key(e *unstable.Node) (parts []string, line int) {
	for keys := e.Key(); keys.Next(); {
		if line == 0 {
			line = p.toml.Shape(keys.Node().Raw).Start.Line
		}
		parts = append(parts, string(keys.Node().Data))
	}
	return parts, line
}

// head reads the head of a section.
func (p *parser) head(e *unstable.Node) {
	parts, line := p.key(e)
	p.section, p.ignored = parts, false
	switch {
	case e.Kind == unstable.Table && len(parts) == 1 && (parts[0] == profileKey || parts[0] == searchesKey):
	case e.Kind == unstable.Table && parts[0] == profileKey && (len(parts) == 2 || len(parts) == 3 && parts[2] == searchesKey):
		p.ignored = p.profile(parts[1], line) == nil
	default:
		p.ignored = true
		p.wrong(line, "there is no section [%s]; a profile is [profile.%s]", strings.Join(parts, "."), parts[len(parts)-1])
	}
}

// profile returns the layer of a profile; nil when its name is not allowed.
func (p *parser) profile(name string, line int) Layer {
	if known, ok := p.file.Profiles[name]; ok {
		return known
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsFunc(name, noNameRune) {
		p.wrong(line, "%q is no name of a profile: those have letters, digits, \"-\", \"_\" and \".\", and begin with no \"-\"", name)
		return nil
	}
	p.file.Profiles[name] = Layer{}
	return p.file.Profiles[name]
}

// noNameRune reports whether a name of a profile cannot hold r. A "/" would make it a path.
func noNameRune(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`/\:'"`, r)
}

// keyValue reads one key and its value.
func (p *parser) keyValue(e *unstable.Node) {
	parts, line := p.key(e)
	parts = append(slices.Clone(p.section), parts...)
	switch {
	case len(parts) == 2 && parts[0] == searchesKey:
		p.search("", parts[1], line, e.Value())
	case len(parts) == 4 && parts[0] == profileKey && parts[2] == searchesKey:
		if p.profile(parts[1], line) != nil {
			p.search(parts[1], parts[3], line, e.Value())
		}
	case parts[len(parts)-1] == searchesKey && (len(parts) == 1 || len(parts) == 3 && parts[0] == profileKey):
		p.wrong(line, "%s: searches have a section of their own, [searches] or [profile.NAME.searches], and in it a line for each", strings.Join(parts, "."))
	case len(parts) == 1 && parts[0] != profileKey:
		p.option(p.file.Defaults, FromDefaults, parts[0], line, e.Value())
	case len(parts) == 3 && parts[0] == profileKey:
		if layer := p.profile(parts[1], line); layer != nil {
			p.option(layer, FromProfile, parts[2], line, e.Value())
		}
	default:
		p.wrong(line, "%s: a profile has a section of its own, [profile.NAME], and in it a line for each option", strings.Join(parts, "."))
	}
}

// option reads the value of one option.
func (p *parser) option(into Layer, source Source, name string, line int, value *unstable.Node) {
	o, known := p.options[name]
	if name == Mountpoint {
		o, known = Option{Name: name, Path: true}, true
		if source == FromDefaults {
			p.wrong(line, "mountpoint: only a profile has one; write it into a section [profile.NAME]")
			return
		}
	}
	if !known {
		p.wrong(line, "there is no key %q%s", name, Meant(name, p.keys()))
		return
	}
	text, err := o.read(value)
	if err != nil {
		p.wrong(line, "%s: %v", name, err)
		if text = string(value.Data); text == "" || o.Path {
			return
		}
	}
	into[name] = Value{Text: text, Source: source, File: p.file.Path, Line: line, Mistyped: err != nil}
}

func (p *parser) keys() []string { return append(p.names(), Mountpoint) }

// read returns the value of an option as it would be on a command line. It checks the type, so
// that nobody wonders what read-only = "no" means; the command checks the value.
func (o Option) read(value *unstable.Node) (string, error) {
	text := string(value.Data)
	switch o.Kind {
	case Switch:
		if value.Kind != unstable.Bool {
			return "", errors.New("write true or false, without quotes")
		}
		return text, nil
	case Number:
		if value.Kind != unstable.Integer {
			return "", errors.New("write a whole number, without quotes")
		}
		return strings.ReplaceAll(text, "_", ""), nil
	}
	switch {
	case value.Kind == unstable.String && o.Path:
		return absolute(text)
	case value.Kind == unstable.String, value.Kind == unstable.LocalDate:
		return text, nil
	case value.Kind == unstable.Integer && o.Kind == Duration:
		return "", fmt.Errorf("%s is no duration; write %s = \"%ss\" for seconds, or another unit", text, o.Name, text)
	}
	return "", errors.New("write a text in quotes")
}

// absolute returns a path of a file, in which "~/" is the user's home. Another path that is
// not absolute would depend on the directory in which the program happens to run.
func absolute(path string) (string, error) {
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := homeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, below), nil
	}
	if path != "" && !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q: a path in a configuration file begins with / or ~/", path)
	}
	return path, nil
}
