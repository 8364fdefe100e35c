//go:build linux

package visit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/windows"
)

// mode is how two machines mount one archive.
type mode struct {
	mount string
	// soon is how late what somebody else changes may show in a folder that is listed, and ttl how late
	// otherwise.
	soon, ttl time.Duration
}

// pair visits two machines, each with a mount of one archive: what one does the other shows.
func pair(ctx context.Context, a *host.Archive, log func(format string, args ...any)) (all []Chapter, err error) {
	for i, m := range []mode{{"--ttl 5s --watch 0", 5 * time.Second, 5 * time.Second}, {"--ttl 30s --watch 1s", 2 * time.Second, 30 * time.Second}} {
		chapters, err := m.visit(ctx, a, i+1, log)
		if err != nil {
			return nil, err
		}
		all = append(all, chapters...)
	}
	return all, nil
}

// visit visits the n-th pair.
func (m mode) visit(ctx context.Context, a *host.Archive, n int, log func(format string, args ...any)) (chapters []Chapter, err error) {
	var clients []*hand
	var last *host.Host
	for _, name := range []string{"first", "second"} {
		h, err := host.Export(ctx, a, host.Options{Name: fmt.Sprintf("%s-%d", name, n), Mount: m.mount + " --grace 2s --allow-delete"})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
		c, err := connect(ctx, h, "")
		if err != nil {
			return nil, err
		}
		defer c.Close() //nolint:errcheck // it ends with this process at the latest
		clients, last = append(clients, c), h
	}
	v, err := arrive(ctx, last, log)
	if err != nil {
		return nil, err
	}
	v.pc, v.next = clients[0], clients[1]
	v.twoServers(n, m)
	return v.run(ctx), nil
}

// busy is how much later anything may be on a busy machine.
const busy = 3 * time.Second

// within waits until a deed succeeds, and says how long that took.
func within(limit time.Duration, what string, do deed) deed {
	return func(ctx context.Context) (string, error) {
		began := time.Now()
		ctx, cancel := context.WithTimeoutCause(ctx, limit+busy, fmt.Errorf("not after %v", limit))
		defer cancel()
		err := host.Until(ctx, what, func() (bool, error) {
			_, err := do(ctx)
			return err == nil, err
		})
		return fmt.Sprintf("%s after %.1f s", what, time.Since(began).Seconds()), err
	}
}

// twoServers does things at two servers. Who shall see what another does has looked just before.
func (v *visit) twoServers(n int, m mode) {
	a, b := v.pc, v.next
	name := func(title string) string { return fmt.Sprintf("%s %d.txt", title, n) }
	v.chapter("Two servers, each with a mount (" + m.mount + ")")
	for i, who := range []struct{ one, other *hand }{{a, b}, {b, a}} {
		title, path := []string{"One", "The other"}[i]+" copies a file in", letters+name([]string{"From one", "From the other"}[i])
		v.step(title, fmt.Sprintf("it is shown at the other server within %v, and reads as it was written", m.soon), in(who.other.shows(letters, []string{"Old letter.txt"})),
			who.one.copyIn(path, path), within(m.soon, "shown", who.other.shows(letters, []string{path[len(letters):]})), who.other.reads(path, path), v.becomes(path, path))
	}
	sought := letters + name("Sought")
	v.step("One copies in what the other has just looked for in vain", fmt.Sprintf("it is found within %v", m.ttl), in(refused(b.reads(sought, ""), missing)), a.copyIn(sought, sought),
		within(m.ttl, "found", b.reads(sought, sought)), v.becomes(sought, sought))
	renamed := letters + name("Renamed")
	v.step("One renames a document that the other has just read", fmt.Sprintf("the other shows the new name within %v, and not the old one", m.soon), in(b.reads(sought, sought)), a.rename(sought, renamed, false),
		within(m.soon, "shown", b.shows(letters, []string{name("Renamed")}, name("Sought"))), b.reads(renamed, sought),
		within(m.ttl, "the old name gone", refused(b.reads(sought, sought), missing)), v.leaves(sought, sought), v.becomes(renamed, sought))
	gone := func(limit time.Duration, path string) deed {
		return within(limit, "not shown any more", in(a.shows(inbox, nil, path[len(inbox):]), refused(a.reads(path, path), missing)))
	}
	scan, mine := inbox+name("Scan"), inbox+name("Scan of one")
	v.step("A file in an inbox", fmt.Sprintf("it is shown at the other server within %v after it has settled", m.soon), in(a.shows(inbox, nil)), b.copyIn(scan, scan), in(v.becomes(scan, scan)),
		within(m.soon, "shown", a.shows(inbox, []string{name("Scan")})), a.reads(scan, scan))
	v.step("It is deleted (--allow-delete)", fmt.Sprintf("it is gone at the other server within %v", m.ttl), b.remove(scan), gone(m.ttl, scan), v.leaves(scan, scan), v.stays)
	v.step("One deletes what the other has just copied in", fmt.Sprintf("it is gone within %v: for a minute a server shows what it has made itself, whatever the service lists", time.Minute+m.soon), a.copyIn(mine, mine), in(v.becomes(mine, mine)),
		within(m.soon, "shown", b.shows(inbox, []string{name("Scan of one")})), b.remove(mine), gone(time.Minute+m.soon, mine), v.leaves(mine, mine), v.stays)
	folder := letters + fmt.Sprintf("Folder %d", n)
	v.step("One makes a folder, and the other copies a file into it", fmt.Sprintf("both show both: the folder within %v, the file within %v", m.ttl, m.soon), in(b.shows(letters, nil)), a.newFolder(folder),
		within(m.ttl, "the folder shown", b.shows(letters, []string{folder[len(letters):]})), in(a.shows(folder, nil)),
		b.copyIn(folder+"/In it.txt", folder), within(m.soon, "the file shown", a.shows(folder, []string{"In it.txt"})), v.is(folder+"/In it.txt", folder))
	v.step("Both copy in the same name, before either shows that of the other", "the archive has both, or the second is refused", in(a.shows(letters, nil)), in(b.shows(letters, nil)), v.same(letters+name("Same")))
}

// same copies two files in under one name.
func (v *visit) same(path string) deed {
	return func(ctx context.Context) (string, error) {
		first, second := path+", the first", path+", the second"
		if _, err := v.pc.copyIn(path, first)(ctx); err != nil {
			return "", err
		}
		v.want[at(path, first)]++
		_, err := v.next.copyIn(path, second)(ctx)
		if status, ok := errors.AsType[windows.StatusError](err); ok {
			return "the second is refused: " + string(status), v.matches(ctx)
		}
		v.want[at(path, second)]++
		return "the archive has both", errors.Join(err, v.matches(ctx))
	}
}
