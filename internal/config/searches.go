package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/durable"
)

// searchesKey is the table of saved searches, at the top of a file and in a profile.
const searchesKey = "searches"

// Search is a saved search: a name for a query, in [searches] or [profile.NAME.searches] of a file.
type Search struct {
	Name, Query string
	Source      Source // FromProfile or FromDefaults
	File        string
	Line        int
}

// maxSearchName is the longest name of a file, in bytes.
const maxSearchName = 255

// CheckSearchName returns an error unless the name can be that of a directory. Names with a dot in
// front are hidden, and desktops look such names up everywhere.
func CheckSearchName(name string) error {
	switch {
	case name == "", strings.HasPrefix(name, "."), strings.Contains(name, "/"), strings.ContainsFunc(name, unicode.IsControl),
		!utf8.ValidString(name), len(name) > maxSearchName:
		return fmt.Errorf("%q is no name of a search: that is a file name of at most %d bytes, without \"/\" and control characters, and with no \".\" in front",
			name, maxSearchName)
	}
	return nil
}

// search reads one saved search.
func (p *parser) search(profile, name string, line int, value *unstable.Node) {
	if err := CheckSearchName(name); err != nil {
		p.wrong(line, "%v", err)
		return
	}
	if value.Kind != unstable.String {
		p.wrong(line, "%s: write the query as a text in quotes", name)
		return
	}
	source := FromProfile
	if profile == "" {
		source = FromDefaults
	}
	p.file.Searches[profile] = append(p.file.Searches[profile], Search{name, string(value.Data), source, p.file.Path, line})
}

// Searches are the saved searches of a profile (empty for none), by name. Those of the profile count
// more than those for all, and the user's more than the administrator's.
func (files Files) Searches(profile string) []Search {
	var all []Search
	for _, of := range slices.Compact([]string{profile, ""}) {
		for _, f := range files {
			for _, s := range f.Searches[of] {
				if !slices.ContainsFunc(all, func(known Search) bool { return known.Name == s.Name }) {
					all = append(all, s)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Search) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// ErrNoSearch says that a file has no search of that name.
var ErrNoSearch = errors.New("there is no such search")

// SaveSearch saves a query under a name in the file at path, for a profile or, if that is empty, for
// all mounts. It makes the file if it is missing, and changes nothing else in it.
func SaveSearch(path string, options []Option, profile, name, query string) error {
	if err := CheckSearchName(name); err != nil {
		return err
	}
	entry, err := toml.Marshal(map[string]string{name: query})
	if err != nil {
		return fmt.Errorf("write the search %q: %w", name, err)
	}
	return editFile(path, options, func(text []byte, tree map[string]any) ([]byte, error) {
		for _, key := range searchesTable(profile) {
			if tree[key] == nil {
				tree[key] = map[string]any{}
			}
			tree, _ = tree[key].(map[string]any)
		}
		tree[name] = query
		return insertSearch(text, profile, name, entry), nil
	})
}

// insertSearch writes entry, the line of a search, into a text.
func insertSearch(text []byte, profile, name string, entry []byte) []byte {
	at := findSearches(text, profile)
	if old, ok := at.entries[name]; ok {
		return slices.Concat(text[:old.from], bytes.TrimRight(entry, "\n"), text[old.to:])
	}
	if at.end > 0 {
		return slices.Concat(text[:at.end], entry, text[at.end:])
	}
	head := "[" + searchesKey + "]\n"
	if profile != "" {
		head = "[profile." + bareOrQuoted(profile) + "." + searchesKey + "]\n"
	}
	if len(text) > 0 {
		head = "\n" + head
	}
	return slices.Concat(text, []byte(head), entry)
}

// RemoveSearch removes a search from the file at path, with its line, and the last one with the heading of
// their section. It returns ErrNoSearch if the file does not have it.
func RemoveSearch(path string, options []Option, profile, name string) error {
	return editFile(path, options, func(text []byte, tree map[string]any) ([]byte, error) {
		above := tree
		for _, key := range searchesTable(profile) {
			above = tree
			tree, _ = tree[key].(map[string]any)
		}
		if tree[name] == nil {
			return nil, ErrNoSearch
		}
		delete(tree, name)
		old := findSearches(text, profile).entries[name]
		text = slices.Concat(text[:lineStart(text, old.from)], text[lineEnd(text, old.to):])
		if len(tree) == 0 && (profile == "" || len(above) > 1) { // else the heading alone names the profile
			if without, ok := cutHeading(text, profile); ok {
				delete(above, searchesKey)
				return without, nil
			}
		}
		return text, nil
	})
}

// cutHeading removes the heading of searches, of which there are none left, and the empty line above it.
// False: there is no heading, or a comment belongs to it.
func cutHeading(text []byte, profile string) (without []byte, ok bool) {
	end := findSearches(text, profile).end
	if end == 0 {
		return nil, false
	}
	from := lineStart(text, end-1)
	after := bytes.TrimLeft(text[end:], " \t\r\n")
	if bytes.Contains(text[from:end], []byte("#")) || len(after) > 0 && after[0] != '[' {
		return nil, false
	}
	before := bytes.TrimRight(text[:from], "\n")
	if len(before) == 0 || len(after) == 0 {
		return slices.Concat(text[:min(len(before)+1, from)], after), true
	}
	return slices.Concat(text[:from], after), true
}

// searchesTable is the key of the table with the searches of a profile.
func searchesTable(profile string) []string {
	if profile == "" {
		return []string{searchesKey}
	}
	return []string{profileKey, profile, searchesKey}
}

// bareOrQuoted writes a key of TOML. The names of profiles have no quotes and no control characters.
func bareOrQuoted(key string) string {
	if strings.ContainsFunc(key, func(r rune) bool {
		return r != '-' && r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}) {
		return `"` + key + `"`
	}
	return key
}

// span are the bytes of a key and its value.
type span struct{ from, to int }

// searchPlaces are the places of the searches of one profile in a text.
type searchPlaces struct {
	entries map[string]span
	end     int // where another entry of their section goes; 0 without a section
}

// findSearches finds the searches of a profile in a text without mistakes.
func findSearches(text []byte, profile string) *searchPlaces {
	table := searchesTable(profile)
	at := &searchPlaces{entries: map[string]span{}}
	var p unstable.Parser
	p.Reset(text)
	var section []string
	for p.NextExpression() {
		e := p.Expression()
		var key []string
		var raw []unstable.Range
		for keys := e.Key(); keys.Next(); {
			key, raw = append(key, string(keys.Node().Data)), append(raw, keys.Node().Raw)
		}
		switch e.Kind {
		case unstable.Table:
			if section = key; slices.Equal(section, table) {
				at.end = lineEnd(text, int(raw[0].Offset))
			}
		case unstable.KeyValue:
			key = append(slices.Clone(section), key...)
			if len(key) != len(table)+1 || !slices.Equal(key[:len(table)], table) {
				continue
			}
			to := int(e.Value().Raw.Offset + e.Value().Raw.Length)
			at.entries[key[len(table)]] = span{int(raw[0].Offset), to}
			if slices.Equal(section, table) {
				at.end = lineEnd(text, to)
			}
		}
	}
	return at
}

// lineStart and lineEnd return where the line around a position begins and where the next one does.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// editFile edits the file at path. change returns the new text, and makes the same change to the tree
// of its values: nothing is written if the new text says anything else.
func editFile(path string, options []Option, change func(text []byte, tree map[string]any) ([]byte, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays a link
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the directory of the configuration: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("open the directory of the configuration: %w", err)
	}
	defer dir.Close()                                               //nolint:errcheck // it is only locked
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil { // against another one who edits
		return fmt.Errorf("lock %s: %w", dir.Name(), err)
	}
	text, mode, err := readForEdit(path)
	if err != nil {
		return err
	}
	if _, problems := Parse(path, text, options); len(problems) > 0 {
		return problems.Error()
	}
	want, got := map[string]any{}, map[string]any{}
	if err := toml.Unmarshal(text, &want); err != nil {
		return err
	}
	if text, err = change(text, want); err != nil {
		return err
	}
	if err := toml.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s is written in a way that this command cannot change; edit it by hand", path)
	}
	return durable.WriteFile(path, text, mode)
}

// readForEdit reads a file that may be missing. Its last line ends with a line break.
func readForEdit(path string) (text []byte, mode os.FileMode, err error) {
	text, err = os.ReadFile(path) //nolint:gosec // the user's configuration
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return text, info.Mode().Perm(), nil
}
