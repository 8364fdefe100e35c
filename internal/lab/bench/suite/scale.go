//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/corpus"
	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// groupScale measures archives that grow.
const groupScale = "scale"

// perFolder is how many documents a folder has.
const perFolder = 10

// ScaleName is the name of a measure of an archive with that many documents.
func ScaleName(documents int, what string) string { return fmt.Sprintf("scale_%d_%s", documents, what) }

// ScaleParts are what is measured of each: until the root is listed, the first ls of a
// folder deep below, find, find again; memory (MiB) and processor time of the mount after
// the first find.
func ScaleParts() []string { return []string{"mount", "ls", "find", "find_warm", "rss_MB", "cpu_s"} }

// scales are the numbers of folders that a mount is tried with.
func scales(shape corpus.Shape) []int {
	if shape.Name == corpus.Small {
		return []int{10, 100}
	}
	return []int{1_000, 10_000, 100_000}
}

// measureScale mounts archives of each size.
func (b *Bench) measureScale(ctx context.Context) error {
	b.say("== %s", groupScale)
	for _, folders := range scales(b.Shape) {
		for _, part := range ScaleParts() {
			b.results.Forget(own, ScaleName(folders*perFolder, part))
		}
		if err := b.measureSize(ctx, folders); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) measureSize(ctx context.Context, folders int) error {
	const name = "scale"
	data := filepath.Join(b.dir, name)
	defer func() { _ = os.RemoveAll(data) }() // the run's own directory goes, too
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := fillScale(ctx, data, folders); err != nil {
		return fmt.Errorf("fill an archive: %w", err)
	}
	srv, err := b.startService(ctx, name, data)
	if srv != nil {
		b.servers[name] = srv
		defer func() {
			srv.process.Stop()
			delete(b.servers, name)
		}()
	}
	if err != nil {
		return err
	}
	deep, err := srv.deep(ctx)
	if err != nil {
		return err
	}
	sys, n := systemOf(own), folders*perFolder
	for range b.Repeats {
		began := time.Now()
		if err := b.firstLook(ctx, sys, srv, n, deep); err != nil {
			return err
		}
		if err := b.walk(ctx, sys, srv, n); err != nil {
			return err
		}
		if time.Since(began) > b.Slow {
			break
		}
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

// firstLook measures what somebody waits for who mounts and opens one folder.
func (b *Bench) firstLook(ctx context.Context, sys *system, srv *server, n int, deep string) (err error) {
	s, took, err := b.mount(ctx, sys, srv, srv.address, "DEEP="+deep)
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if err != nil {
		return err
	}
	b.record(own, ScaleName(n, "mount"), took.Seconds(), nil)
	_, err = s.scaleStep(ctx, ScaleName(n, "ls"), `ls "$MNT$DEEP" | wc -l`, perFolder)
	return err
}

// walk measures find over all, twice.
func (b *Bench) walk(ctx context.Context, sys *system, srv *server, n int) (err error) {
	s, _, err := b.mount(ctx, sys, srv, srv.address)
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if err != nil {
		return err
	}
	const all = `find "$MNT" -type f | wc -l`
	usage, err := s.scaleStep(ctx, ScaleName(n, "find"), all, n)
	if err != nil {
		return err
	}
	b.record(own, ScaleName(n, "rss_MB"), usage.Resident, nil)
	b.record(own, ScaleName(n, "cpu_s"), usage.CPU, nil)
	_, err = s.scaleStep(ctx, ScaleName(n, "find_warm"), all, n)
	return err
}

// scaleStep measures a command that prints want. It returns what the mount took so far.
func (s *session) scaleStep(ctx context.Context, id, command string, want int) (machine.Usage, error) {
	before, err := s.requests(ctx)
	if err != nil {
		return machine.Usage{}, err
	}
	r, err := machine.Run(ctx, command, s.env, 5*time.Minute)
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
	s.b.record(own, id, r.Took.Seconds(), since(before, after))
	return usage, s.alive()
}
