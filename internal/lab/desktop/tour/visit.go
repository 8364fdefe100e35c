//go:build linux

package tour

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/desktop/office"
	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
)

// Step is one thing that was done, and what came of it.
type Step struct {
	Title, Expected, Seen string
	Traffic               office.Traffic
	Picture               string // file name; empty where nothing is shown
	Err                   error
}

// Visit is what was done with one program.
type Visit struct {
	Name    string
	Version string
	Note    string // what it cannot do
	Steps   []Step
}

// Failed are the steps that did not end as expected.
func (v *Visit) Failed() (all []string) {
	for _, s := range v.Steps {
		if s.Err != nil {
			all = append(all, fmt.Sprintf("%s, %s: %v", v.Name, s.Title, s.Err))
		}
	}
	return all
}

// guide leads through a visit. The first thing that fails ends the step: what comes after it
// in the step does nothing.
type guide struct {
	*Visit
	ctx    context.Context
	screen *screen.Screen
	office *office.Office
	// packaging and pictures are directories.
	packaging, pictures string
	log                 func(string, ...any)
	err                 error // of this step
	started             []*machine.Process
	ended               func() error            // waits until what was started shows nothing any more; nil for none
	shot                func(file string) error // takes a picture; nil for one of the screen, if something was started
}

// step does one step. What do returns is what was seen.
func (g *guide) step(title, expected string, do func() string) {
	if g.ctx.Err() != nil {
		return
	}
	g.err = g.office.Settled(g.ctx)
	g.office.Wire.Take()
	s := Step{Title: title, Expected: expected}
	if g.err == nil {
		s.Seen = strings.ReplaceAll(do(), g.screen.Home()+"/", "~/")
	}
	if len(g.started) > 0 || g.shot != nil {
		s.Picture = g.picture(len(g.Steps) + 1)
	}
	if s.Err = g.err; s.Err != nil {
		seen := filepath.Join(g.screen.Logs(), fmt.Sprintf("%s-%02d.txt", g.Name, len(g.Steps)+1))
		s.Err = errors.Join(s.Err, os.WriteFile(seen, []byte(g.screen.Everything(g.ctx)), 0o600))
	}
	if err := g.office.Settled(g.ctx); s.Err == nil {
		s.Err = err
	}
	s.Traffic = g.office.Wire.Take()
	g.Steps = append(g.Steps, s)
	g.leave()
	if s.Err != nil {
		g.log("%s: %s: FAILED: %v", g.Name, title, s.Err)
	} else {
		g.log("%s: %s: %s; requests: %s; %d bytes received", g.Name, title, s.Seen, s.Traffic, s.Traffic.Received)
	}
}

// picture keeps what is shown now, and returns the name of the file.
func (g *guide) picture(n int) string {
	name := fmt.Sprintf("%s-%02d.png", strings.ToLower(strings.Fields(g.Name)[0]), n)
	file := filepath.Join(g.pictures, name)
	if g.shot != nil {
		g.fail(g.shot(file))
	} else {
		g.fail(g.screen.Picture(g.ctx, file))
	}
	return name
}

// leave ends what the step started.
func (g *guide) leave() {
	for _, p := range slices.Backward(g.started) {
		p.Stop()
	}
	if len(g.started) > 0 && g.ended != nil {
		g.fail(g.ended())
	}
	g.started = nil
}

func (g *guide) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}

// until waits for something that shall come.
func (g *guide) until(what string, come func() (bool, error)) {
	if g.err == nil {
		g.err = screen.Until(g.ctx, what, come)
	}
}

// launch starts a program that the end of the step ends.
func (g *guide) launch(line string) {
	if g.err != nil {
		return
	}
	p, err := g.screen.Launch(g.ctx, strings.ToLower(strings.Fields(g.Name)[0]), line)
	if err != nil {
		g.fail(err)
		return
	}
	g.started = append(g.started, p)
}

// run runs a command line to its end.
func (g *guide) run(line string) string {
	if g.err != nil {
		return ""
	}
	out, err := g.screen.Run(g.ctx, line)
	g.fail(err)
	return out
}

// refused runs a command line that must fail, and returns what it complains about.
func (g *guide) refused(line string) string {
	if g.err != nil {
		return ""
	}
	out, err := g.screen.Run(g.ctx, "{ "+line+"; } 2>&1 && echo IT-SUCCEEDED || true")
	g.fail(err)
	if strings.HasSuffix(out, "IT-SUCCEEDED") {
		g.fail(fmt.Errorf("%s succeeded", line))
	}
	return out
}

// in is a path in the mount.
func (g *guide) in(path ...string) string {
	return filepath.Join(append([]string{g.office.Mount}, path...)...)
}

// own is a path in the documents of the user, outside the archive.
func (g *guide) own(name string) string { return filepath.Join(g.screen.Home(), "Documents", name) }

// write writes a document of the user.
func (g *guide) write(name string, content []byte) {
	if g.err == nil {
		g.fail(os.WriteFile(g.own(name), content, 0o600))
	}
}

// archived waits until the archive has a document of that name and content in a folder.
func (g *guide) archived(name string, content []byte, folder ...string) {
	g.until(fmt.Sprintf("%q in %s", name, strings.Join(folder, "/")), func() (bool, error) {
		names, err := g.names(folder)
		if err != nil || !slices.Contains(names, name) {
			return false, err
		}
		got, err := g.office.ContentAt(g.ctx, at(folder, name))
		if err == nil && string(got) != string(content) {
			err = fmt.Errorf("it has %d bytes in the archive, and not those %d", len(got), len(content))
		}
		return err == nil, err
	})
}

// same fails when the archive has other documents in the folder than these.
func (g *guide) same(before []string, folder ...string) {
	after := g.documents(folder...)
	if g.err == nil && !slices.Equal(before, after) {
		g.fail(fmt.Errorf("%s has %q, and had %q", strings.Join(folder, "/"), after, before))
	}
}

// at is the path of a document of a folder in the archive.
func at(folder []string, name string) string { return path.Join(path.Join(folder...), name) }

// names are the names of the documents in a folder.
func (g *guide) names(folder []string) (names []string, err error) {
	all, err := g.office.Documents(g.ctx, path.Join(folder...))
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names, err
}

func (g *guide) documents(folder ...string) []string {
	if g.err != nil {
		return nil
	}
	names, err := g.names(folder)
	g.fail(err)
	slices.Sort(names)
	return names
}

// uploads fails when the service did not get so many files in this step.
func (g *guide) uploads(n int) {
	if got := g.office.Wire.Total().Count("POST /file-upload"); g.err == nil && got != n {
		g.fail(fmt.Errorf("%d files were uploaded, not %d", got, n))
	}
}

// tell says what is on the screen when the step fails.
func (g *guide) tell(tree *screen.Node) error {
	return errors.New("shown is: " + tree.Words())
}
