//go:build linux

// Package visit does at a share what people do with Windows and macOS, and checks at the service what
// has come of it.
package visit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/windows"
	"github.com/archivefs/archivefs/internal/lab/smbd"
)

// Step is one thing that was done, and what came of it.
type Step struct {
	Title, Expected, Seen string
	Err                   error
}

// Chapter is what was done with one kind of client.
type Chapter struct {
	Name  string
	Steps []Step
}

// Failed counts the steps that did not end as expected.
func Failed(all []Chapter) (n int) {
	for _, c := range all {
		for _, s := range c.Steps {
			if s.Err != nil {
				n++
			}
		}
	}
	return n
}

// Passed counts the others.
func Passed(all []Chapter) (n int) {
	for _, c := range all {
		n += len(c.Steps)
	}
	return n - Failed(all)
}

// visit is a visit: first planned, then under way.
type visit struct {
	host     *host.Host
	pc, next *hand // two machines with Windows
	mac      *hand
	log      func(format string, args ...any)
	chapters []Chapter
	plan     []plan
	old      map[string]string // documents of the archive at its beginning
	// want are the documents that the archive has to have, as want keys: how often each.
	want map[document]int
	// lists is how many lists of documents the mount had requested before the last step of many.
	lists int
	// sent are the contents that may have gone to the service.
	sent map[[sha256.Size]byte]string
}

// document is one with its folder, name and content.
type document struct{ folder, name, content string }

// at makes a document of a path in the mount.
func at(path, content string) document {
	i := strings.LastIndexByte(path, '/')
	return document{path[:i], path[i+1:], content}
}

// deed is part of a step. seen may be empty.
type deed func(ctx context.Context) (seen string, err error)

// plan is a step that is to be done.
type plan struct {
	chapter         int
	title, expected string
	deeds           []deed
}

// Go visits the share of a machine, one with a long time of grace and one without, those of two machines, one
// with a mount for each person, and one with a large folder.
func Go(ctx context.Context, a *host.Archive, log func(format string, args ...any)) (all []Chapter, err error) {
	for _, one := range []func(context.Context, *host.Archive, func(string, ...any)) ([]Chapter, error){alone, graced, pair, each, large} {
		chapters, err := one(ctx, a, log)
		if err != nil {
			return nil, err
		}
		all = append(all, chapters...)
	}
	return all, ctx.Err()
}

// alone visits the share of one machine.
func alone(ctx context.Context, a *host.Archive, log func(format string, args ...any)) (chapters []Chapter, err error) {
	h, err := host.Export(ctx, a, host.Options{Name: "office", Mount: "--grace 2s --watch 1s", Wire: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	v, err := arrive(ctx, h, log)
	if err != nil {
		return nil, err
	}
	for _, client := range []**hand{&v.pc, &v.next, &v.mac} {
		if *client, err = connect(ctx, h, ""); err != nil {
			return nil, err
		}
		defer (*client).Close() //nolint:errcheck // it ends with this process at the latest
	}
	v.explorer()
	v.office()
	v.names()
	v.finder()
	v.together()
	v.trouble()
	v.chapter("In the end")
	v.step("The archive", "it has each document once, with its bytes; nothing else was sent", v.audit)
	return v.run(ctx), nil
}

// arrive begins a visit: its steps are planned now.
func arrive(ctx context.Context, h *host.Host, log func(format string, args ...any)) (v *visit, err error) {
	v = &visit{host: h, log: log, old: host.Old(), sent: map[[sha256.Size]byte]string{}}
	v.want, err = v.archive(ctx)
	return v, err
}

// connect connects a client of a person, or of a guest if the name is empty.
func connect(ctx context.Context, h *host.Host, person string) (*hand, error) {
	c, err := windows.Connect(ctx, h.SMB(), host.Share, person, smbd.Password)
	return &hand{c}, err
}

// run does all steps.
func (v *visit) run(ctx context.Context) []Chapter {
	for _, p := range v.plan {
		if ctx.Err() == nil {
			v.do(ctx, &p)
		}
	}
	return v.chapters
}

func (v *visit) chapter(name string) { v.chapters = append(v.chapters, Chapter{Name: name}) }

// step plans a step.
func (v *visit) step(title, expected string, deeds ...deed) {
	v.plan = append(v.plan, plan{len(v.chapters) - 1, title, expected, deeds})
}

// do does a step. What fails first ends it.
func (v *visit) do(ctx context.Context, p *plan) {
	s := Step{Title: p.title, Expected: p.expected}
	var seen []string
	for _, do := range p.deeds {
		var word string
		if word, s.Err = do(ctx); s.Err != nil {
			break
		}
		if word != "" && !slices.Contains(seen, word) {
			seen = append(seen, word)
		}
	}
	s.Seen = strings.Join(seen, "; ")
	chapter := &v.chapters[p.chapter]
	chapter.Steps = append(chapter.Steps, s)
	if s.Err != nil {
		v.log("%s: %s: FAILED: %v", chapter.Name, p.title, s.Err)
		return
	}
	v.log("%s: %s: %s", chapter.Name, p.title, s.Seen)
}

// plain turns an action into a deed that sees nothing.
func plain(do func() error) deed {
	return func(ctx context.Context) (string, error) { return "", do() }
}

// refused is a deed that has to fail in one of these ways.
func refused(do deed, ways ...windows.StatusError) deed {
	return func(ctx context.Context) (string, error) {
		_, err := do(ctx)
		for _, way := range ways {
			if errors.Is(err, way) {
				return "refused: " + string(way), nil
			}
		}
		if err == nil {
			err = errors.New("it succeeded")
		}
		return "", fmt.Errorf("not one of %v: %w", ways, err)
	}
}

// archive are the documents that the archive has in the folders of the visit.
func (v *visit) archive(ctx context.Context) (map[document]int, error) {
	all := map[document]int{}
	for _, folder := range []string{host.Letters, host.Offers, host.Inbox} {
		documents, err := v.host.Documents(ctx, folder)
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			content, err := v.host.Content(ctx, d.ID)
			if err != nil {
				return nil, err
			}
			all[document{folder, d.Name, string(content)}]++
		}
	}
	return all, nil
}

// becomes waits until the archive has one more document, which it keeps from then on.
func (v *visit) becomes(path, content string) deed {
	return func(ctx context.Context) (string, error) {
		v.want[at(path, content)]++
		v.send(path, content)
		return "the archive has it once, with the same bytes", v.matches(ctx)
	}
}

// send says that a content may go to the service.
func (v *visit) send(path, content string) { v.sent[sha256.Sum256([]byte(content))] = path }

// leaves says that the archive has a document no more; a later deed waits for it.
func (v *visit) leaves(path, content string) deed {
	return func(ctx context.Context) (string, error) {
		v.want[at(path, content)]--
		return "", nil
	}
}

// stays waits until the archive has what it had.
func (v *visit) stays(ctx context.Context) (string, error) {
	return "the archive has what it had", v.matches(ctx)
}

// matches waits until the archive has the documents that it has to have. If it does not, what it has
// is taken for right by later steps.
func (v *visit) matches(ctx context.Context) error {
	maps.DeleteFunc(v.want, func(_ document, n int) bool { return n <= 0 })
	var has map[document]int
	differs := errors.New("")
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err := host.Until(ctx, "the archive", func() (there bool, err error) {
		now, err := v.archive(ctx)
		if err == nil {
			has, differs = now, compare(v.want, now)
		}
		return differs == nil, err
	})
	if err != nil {
		v.want = has
		return differs
	}
	return nil
}

// compare says which documents are missing, and which ones should not be there.
func compare(want, has map[document]int) error {
	var all []error
	for d, n := range want {
		if has[d] < n {
			all = append(all, fmt.Errorf("the archive lacks %s/%s with %d bytes", d.folder, d.name, len(d.content)))
		}
	}
	for d, n := range has {
		if want[d] < n {
			all = append(all, fmt.Errorf("the archive has %s/%s with %d bytes %d times, and not %d", d.folder, d.name, len(d.content), n, want[d]))
		}
	}
	return errors.Join(all...)
}

// audit compares the archive with all that was done, and what was sent with what should have been.
func (v *visit) audit(ctx context.Context) (string, error) {
	if err := v.matches(ctx); err != nil {
		return "", err
	}
	times := map[string]int{}
	for _, p := range v.host.Wire.Passed() {
		path, known := v.sent[p.Sum]
		if !known {
			return "", fmt.Errorf("a file was sent that should have stayed on the machine: SHA-256 %x", p.Sum)
		}
		times[path]++
	}
	documents := 0
	for _, n := range v.want {
		documents += n
	}
	uploads, err := v.host.Uploads(ctx)
	for _, u := range uploads {
		if u.State == "pending" {
			err = errors.Join(err, fmt.Errorf("%s is still waiting", u.Path))
		}
	}
	return fmt.Sprintf("%d documents; %d files were sent, none of them a temporary one", documents, len(times)), err
}
