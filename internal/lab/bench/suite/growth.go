//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/corpus"
	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// groupGrowth measures archives that grow: more folders, with as many documents in each.
const groupGrowth = "growth"

// perFolder is how many documents a folder has.
const perFolder = 100

// growthLimit is what a command may take, over ten million documents on a busy machine.
const growthLimit = 30 * time.Minute

// growthName is the name of a measure of an archive with that many documents.
func growthName(documents int, what string) string {
	return fmt.Sprintf("growth_%d_%s", documents, what)
}

// growthParts are what is measured of each: until the root is listed, the first ls of a
// folder deep below, find, find again; memory (MiB) of the mount after the first find and at most
// until then, and its processor time.
func growthParts() []string {
	return []string{"mount", "ls", "find", "find_warm", "rss_MB", "peak_MB", "cpu_s"}
}

// growthSizes are the numbers of folders that a mount is tried with.
func growthSizes(shape corpus.Shape) []int {
	if shape.Name == corpus.Small {
		return []int{1, 10, 100}
	}
	return []int{100, 1_000, 10_000, 100_000}
}

// measureGrowth mounts archives of each size, on the service and on the bare one.
func (b *Bench) measureGrowth(ctx context.Context) error {
	b.say("== %s", groupGrowth)
	for _, folders := range growthSizes(b.Shape) {
		if err := b.measureSize(ctx, folders); err != nil {
			return fmt.Errorf("%d folders: %w", folders, err)
		}
	}
	return nil
}

func (b *Bench) measureSize(ctx context.Context, folders int) error {
	data := filepath.Join(b.dir, groupGrowth)
	defer func() { _ = os.RemoveAll(data) }() // or the next run does
	if err := errors.Join(os.RemoveAll(data), os.Mkdir(data, 0o700)); err != nil {
		return err
	}
	began := time.Now()
	if err := fillGrowth(ctx, data, folders); err != nil {
		return fmt.Errorf("fill an archive: %w", err)
	}
	b.say("  filled an archive of %d documents in %s", folders*perFolder, time.Since(began).Round(time.Second))
	for _, name := range []string{own, foreign} {
		if !slices.Contains(b.Systems, name) {
			continue
		}
		for _, part := range growthParts() {
			b.results.Forget(name, growthName(folders*perFolder, part))
		}
		if err := b.measureGrown(ctx, systemOf(name), data, folders*perFolder); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// measureGrown measures mounts of the archive in a directory, which has n documents.
func (b *Bench) measureGrown(ctx context.Context, sys *system, data string, n int) error {
	srv, err := b.startService(ctx, groupGrowth, data, serviceOptions(sys.server)...)
	if srv != nil {
		b.servers[groupGrowth] = srv
		defer func() {
			srv.process.Stop()
			delete(b.servers, groupGrowth)
		}()
	}
	if err != nil {
		return err
	}
	deep, err := srv.deep(ctx)
	if err != nil {
		return err
	}
	g := grown{b, sys, srv, n}
	slow := false
	for range b.Repeats {
		if err := g.firstLook(ctx, deep); err != nil {
			return err
		}
		if slow { // once is enough
			continue
		}
		began := time.Now()
		if err := g.walk(ctx); err != nil {
			return err
		}
		slow = time.Since(began) > b.Slow
	}
	return nil
}

// deep is the path of the first folder, of the first folder, and so on to the end.
func (s *server) deep(ctx context.Context) (path string, err error) {
	var id int64
	for {
		folders, err := s.folders(ctx, id)
		if err != nil || len(folders) == 0 {
			return path, err
		}
		id = folders[0].ID
		path += "/" + folders[0].Name
	}
}

// grown is an archive of n documents, seen through a system.
type grown struct {
	b   *Bench
	sys *system
	srv *server
	n   int
}

// record keeps one measure.
func (g grown) record(what string, value float64) {
	g.b.record(g.sys.name, growthName(g.n, what), value, nil)
}

// firstLook measures what somebody waits for who mounts and opens one folder.
func (g grown) firstLook(ctx context.Context, deep string) (err error) {
	s, took, err := g.b.mount(ctx, g.sys, g.srv, g.srv.address, "DEEP="+deep)
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if err != nil {
		return err
	}
	g.record("mount", took.Seconds())
	_, err = s.growthStep(ctx, growthName(g.n, "ls"), `ls "$MNT$DEEP" | wc -l`, perFolder)
	return err
}

// walk measures find over all, twice.
func (g grown) walk(ctx context.Context) (err error) {
	s, _, err := g.b.mount(ctx, g.sys, g.srv, g.srv.address)
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if err != nil {
		return err
	}
	const all = `find "$MNT" -type f | wc -l`
	usage, err := s.growthStep(ctx, growthName(g.n, "find"), all, g.n)
	if err != nil {
		return err
	}
	g.record("rss_MB", usage.Resident)
	g.record("peak_MB", usage.Peak)
	g.record("cpu_s", usage.CPU)
	_, err = s.growthStep(ctx, growthName(g.n, "find_warm"), all, g.n)
	return err
}

// growthStep measures a command that prints want. It returns what the mount took so far.
func (s *session) growthStep(ctx context.Context, id, command string, want int) (machine.Usage, error) {
	before, err := s.requests(ctx)
	if err != nil {
		return machine.Usage{}, err
	}
	r, err := machine.Run(ctx, command, s.env, growthLimit)
	if err == nil && r.Output != strconv.Itoa(want) {
		err = fmt.Errorf("printed %s, want %d", r.Output, want)
	}
	if err != nil {
		return machine.Usage{}, fmt.Errorf("%s: %w", id, err)
	}
	usage := machine.UsageOf(s.family())
	after, err := s.requests(ctx)
	if err != nil {
		return machine.Usage{}, err
	}
	s.b.record(s.sys.name, id, r.Took.Seconds(), since(before, after))
	return usage, s.alive()
}
