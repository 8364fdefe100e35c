package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Section is a section of a file that has nothing but sections, each with a name and options.
type Section struct {
	Name   string
	Line   int
	Values Layer
}

// Sections reads a file of sections. Only root and whoever runs the program may be able to change it,
// because it says who is who.
func Sections(path string, options []Option) ([]Section, Problems) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, Problems{{path, 0, reason(err)}}
	}
	defer f.Close() //nolint:errcheck // it was only read
	if err := keptFromOthers(f); err != nil {
		return nil, Problems{{path, 0, err.Error()}}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, Problems{{path, 0, reason(err)}}
	}
	sections, problems := ParseSections(path, text, options)
	return sections, problems.Sort()
}

// keptFromOthers refuses a file that another user than root and that of this process can change.
func keptFromOthers(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode()
	if !mode.IsRegular() {
		return errors.New("it is no file")
	}
	if mode.Perm()&0o022 != 0 {
		return fmt.Errorf("others can write to it (%v); chmod go-w %s", mode.Perm(), f.Name())
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if ok && owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to the user %d, who can change it; as root, chown root %s", owner.Uid, f.Name())
	}
	return nil
}

// ParseSections reads the text of a file of sections.
func ParseSections(path string, text []byte, options []Option) ([]Section, Problems) {
	p := &parser{file: &File{Path: path}, options: map[string]Option{}}
	for _, o := range options {
		p.options[o.Name] = o
	}
	var sections []Section
	p.toml.Reset(p.syntax(text))
	for p.toml.NextExpression() {
		e := p.toml.Expression()
		parts, line := p.key(e)
		switch name := strings.Join(parts, "."); {
		case e.Kind == unstable.Table && len(parts) == 1 && name != "":
			sections = append(sections, Section{name, line, Layer{}})
		case e.Kind == unstable.Table, e.Kind == unstable.ArrayTable:
			p.wrong(line, "[%s] is no section; write a name with dots or other signs in quotes: [%q]", name, name)
			sections = append(sections, Section{}) // which takes what belongs to it
		case e.Kind != unstable.KeyValue:
		case len(sections) == 0:
			p.wrong(line, "%s: it belongs into a section, [NAME]", name)
		case sections[len(sections)-1].Name == "":
		case len(parts) != 1 || p.options[name].Name == "":
			p.wrong(line, "there is no key %q%s", name, Meant(name, p.names()))
		default:
			p.option(sections[len(sections)-1].Values, FromProfile, name, line, e.Value())
		}
	}
	return slices.DeleteFunc(sections, func(s Section) bool { return s.Name == "" }), p.problems
}

// names are the names of the options.
func (p *parser) names() (names []string) {
	for name := range p.options {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Problem is what is wrong in a configuration file, and where.
type Problem struct {
	File string
	Line int // 0 for the file as a whole
	Text string
}

// String is the problem as compilers write theirs: FILE:LINE: TEXT.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems are all that is wrong in the configuration, or nothing.
type Problems []Problem

// Error returns nil when nothing is wrong, else a *UsageError with the first problem and how
// to see the others.
func (all Problems) Error() error {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return Usagef("%s", all[0])
	}
	return &UsageError{Reason: all[0].String() + " (and more: archivefs config check shows all)", More: true}
}

// Sort puts the problems of each file into the order of its lines, and drops repeated ones.
func (all Problems) Sort() Problems {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	seen := map[Problem]bool{}
	return slices.DeleteFunc(all, func(p Problem) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}
