package report

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// page is the text around the numbers.
//
//go:embed readme.md.tmpl
var page string

// notesName is a file beside the page that is written by hand: what is not reached and why,
// and what the profiles say.
const notesName = "notes.md"

// content is what the page is filled with.
type content struct {
	Summary, Targets, Copying, Growth, GrowthTargets, Servers, All, Requests, About string
	Notes                                                                           string
	Plots                                                                           []picture
	GrowthPlot                                                                      picture // none where Growth has fewer than two sizes
	Profiles                                                                        []listing
	NotRun                                                                          string
	Warning                                                                         string // of results that mean nothing
}

type picture struct{ Title, File string }

// listing is a file of text that is shown as it is.
type listing struct{ Title, Text string }

// Write renders a file of results into a directory: a page and its plots.
func Write(results, dir string) error {
	if _, err := os.Stat(results); err != nil {
		return err
	}
	s, err := result.Read(results)
	if err != nil {
		return err
	}
	c := content{
		Summary: summary(s), Targets: targetTable(s), Copying: copyTable(s), Growth: growthTable(s), GrowthTargets: growthTargetTable(s), Servers: serverTable(s),
		All: allTable(s), Requests: requestTable(s), About: aboutTable(s), NotRun: notRun(s),
	}
	if strings.HasPrefix(s.Note(result.About, "corpus"), "small") {
		c.Warning = "These results are of the small corpus, which only shows whether the suite works."
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it is published
		return err
	}
	for _, p := range plots() {
		file := p.name + ".svg"
		if text := p.svg(s); text != "" {
			if err := publish(dir, file, text); err != nil {
				return err
			}
			c.Plots = append(c.Plots, picture{p.title, file})
		}
	}
	if text := growthPlot(s); text != "" {
		c.GrowthPlot = picture{growthTitle, growthFile}
		if err := publish(dir, growthFile, text); err != nil {
			return err
		}
	}
	if c.Notes, err = optional(dir, notesName); err != nil {
		return err
	}
	if c.Profiles, err = profiles(dir); err != nil {
		return err
	}
	var out strings.Builder
	if err := template.Must(template.New("page").Parse(page)).Execute(&out, c); err != nil {
		return err
	}
	return publish(dir, "README.md", out.String())
}

// profiles are the tops that the suite left beside the page.
func profiles(dir string) ([]listing, error) {
	var all []listing
	for _, p := range []listing{
		{"Processor, warm `find` of M", "find-warm.txt"},
		{"Processor, cold `cat` of 2,000 documents", "cat-cold.txt"},
		{"Memory, after `find` of M", "find-heap.txt"},
	} {
		text, err := optional(dir, p.Text)
		if err != nil {
			return nil, err
		}
		if text != "" {
			all = append(all, listing{p.Title, strings.TrimSpace(text)})
		}
	}
	return all, nil
}

func optional(dir, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // the operator names the directory
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

func publish(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) //nolint:gosec // it is published
}
