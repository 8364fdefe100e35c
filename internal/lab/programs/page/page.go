//go:build linux

// Package page makes a page of what the service has after programs did their work: docs/desktop/programs.md.
package page

import (
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/archivefs/archivefs/internal/lab/programs/site"
	"github.com/archivefs/archivefs/internal/lab/programs/trial"
)

//go:embed programs.md.tmpl
var page string

// Row is a trial with the places where it ended alike.
type Row struct {
	*trial.Trial
	Where  string
	Has    string
	Here   string
	Seen   string // empty if all was as meant
	Limits bool   // what was seen cannot be otherwise
}

// Part is a part of the page.
type Part struct {
	Title string
	Rows  []Row
}

// Page is what the template shows.
type Page struct {
	Parts                   []Part
	Passed, Limited, Failed int
	Sites                   []string
}

// Write writes the page.
func Write(file string, all []*trial.Outcome) error {
	t, err := template.New("page").Funcs(template.FuncMap{"cell": cell}).Parse(page)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, of(all)); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644) //nolint:gosec // a page for everybody
}

// of arranges outcomes.
func of(all []*trial.Outcome) Page {
	parts := []Part{{Title: "Programs of Debian"}, {Title: "Programs that are imitated"}, {Title: "Public reports about other mounts and clients"}}
	var p Page
	var trials []*trial.Trial
	byTrial := map[*trial.Trial][]*trial.Outcome{}
	for _, o := range all {
		if len(byTrial[o.Trial]) == 0 {
			trials = append(trials, o.Trial)
		}
		byTrial[o.Trial] = append(byTrial[o.Trial], o)
		switch {
		case len(o.Faults) > 0:
			p.Failed++
		case len(o.Limits) > 0:
			p.Limited++
		default:
			p.Passed++
		}
		if s := o.Place.Conditions.String(); !slices.Contains(p.Sites, s) {
			p.Sites = append(p.Sites, s)
		}
	}
	for _, t := range trials {
		i := 0
		switch {
		case t.Report:
			i = 2
		case t.Source != "":
			i = 1
		}
		parts[i].Rows = append(parts[i].Rows, rows(byTrial[t])...)
	}
	p.Parts = slices.DeleteFunc(parts, func(p Part) bool { return len(p.Rows) == 0 })
	return p
}

// rows are those of one trial.
func rows(outcomes []*trial.Outcome) (all []Row) {
	places := map[string][]trial.Place{}
	for _, o := range outcomes {
		r := Row{Trial: o.Trial, Has: said(o.Has), Here: said(o.Here), Seen: said(o.Faults)}
		if len(o.Limits) > 0 {
			r.Seen, r.Limits = o.Limit, true
		}
		if o.Refused() && r.Seen == "" {
			r.Seen = "refused"
			if o.Late() {
				r.Seen = "refused, at the latest when it is sent"
			}
		}
		key := r.Has + "\n" + r.Here + "\n" + r.Seen
		if len(places[key]) == 0 {
			all = append(all, r)
		}
		places[key] = append(places[key], o.Place)
		at := slices.IndexFunc(all, func(x Row) bool { return x.Has == r.Has && x.Here == r.Here && x.Seen == r.Seen })
		all[at].Where = where(places[key])
	}
	return all
}

// Good says that all was as meant.
func (r Row) Good() bool { return r.Seen == "" || strings.HasPrefix(r.Seen, "refused") }

// where names places, those of one site together.
func where(places []trial.Place) string {
	var sites []site.Conditions
	at := map[site.Conditions][]string{}
	for _, p := range places {
		if len(at[p.Conditions]) == 0 {
			sites = append(sites, p.Conditions)
		}
		at[p.Conditions] = append(at[p.Conditions], p.String())
	}
	var kinds []string
	by := map[string][]string{}
	for _, s := range sites {
		kind := strings.Join(at[s], " and ")
		if len(by[kind]) == 0 {
			kinds = append(kinds, kind)
		}
		by[kind] = append(by[kind], s.String())
	}
	for i, kind := range kinds {
		kinds[i] = kind + ": " + strings.Join(by[kind], " · ")
	}
	return strings.Join(kinds, "; ")
}

// random are what programs make up anew each time.
var random = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`/[^ :'"]*/[0-9]+/(mnt|w)/`), "…/"},
	{regexp.MustCompile(`(\.unison\.[^ ]*\.)[0-9a-f]{32}`), "${1}HASH"},
	{regexp.MustCompile(`#-emacs\w{6}`), "#-emacsXXXXXX"},
	{regexp.MustCompile(`(\.letter\.txt-)\w{8}(\.tmp)`), "${1}XXXXXXXX$2"},
	{regexp.MustCompile(`\btmp[a-z0-9_]{8}\b`), "tmpXXXXXXXX"},
	{regexp.MustCompile(`(letter\.txt\.)([A-Z0-9]{6}|[A-Za-z]{6})\b`), "${1}XXXXXX"},
}

// said are texts in a line, without what is random.
func said(texts []string) string {
	line := strings.Join(texts, "; ")
	for _, r := range random {
		line = r.pattern.ReplaceAllString(line, r.name)
	}
	return line
}

// cell is a text in a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "·")
}
