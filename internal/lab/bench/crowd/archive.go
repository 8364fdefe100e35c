//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/fill"
)

const key = "crowd"

// own are the folders of one person that nobody has listed before: enough for five minutes.
const own = 300

// plant writes the tree that the archive begins with, and what somebody copies in.
func plant(o options) error {
	tree := filepath.Join(o.dir, "tree")
	for i := range 5000 * o.scale / 100 {
		if err := letter(filepath.Join(tree, "walked", fmt.Sprintf("%03d", i/20), fmt.Sprintf("%02d", i%20), "letter.txt")); err != nil {
			return err
		}
	}
	for i := range 2000 * o.scale / 100 {
		for _, at := range []string{filepath.Join(tree, "read"), filepath.Join(o.dir, "own")} {
			if err := letter(filepath.Join(at, fmt.Sprintf("%02d", i/20), fmt.Sprintf("letter %02d.txt", i%20))); err != nil {
				return err
			}
		}
	}
	for i := range o.people {
		for j := range own {
			if err := letter(filepath.Join(tree, "people", person(i), fmt.Sprintf("%03d", j), "letter.txt")); err != nil {
				return err
			}
		}
		if err := letter(filepath.Join(tree, "in", person(i), "letter.txt")); err != nil {
			return err
		}
	}
	return letter(filepath.Join(tree, "in", "somebody", "letter.txt"))
}

// letter writes a file that no other is equal to.
func letter(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // others copy it
		return err
	}
	return os.WriteFile(path, []byte(path+"\n"), 0o644) //nolint:gosec // others copy it
}

func person(i int) string { return fmt.Sprintf("person %02d", i+1) }

// serve starts a service with the tree.
func serve(ctx context.Context, o options) (*machine.Process, string, error) {
	address, err := machine.FreeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := fill.Tree(ctx, filepath.Join(o.dir, "data"), filepath.Join(o.dir, "tree"), false); err != nil {
		return nil, "", err
	}
	log := filepath.Join(o.dir, "service.log")
	p, err := machine.Start(ctx, `exec "$ARCHIVEFS" serve --listen "$ADDRESS" --api-key "$KEY" --log-level warn --data "$DIR/data"`,
		[]string{"ARCHIVEFS=" + o.program, "ADDRESS=" + address, "KEY=" + key, "DIR=" + o.dir}, log)
	if err != nil {
		return nil, "", err
	}
	err = await(ctx, p, log, func() bool {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		return err == nil && c.Close() == nil
	})
	if err != nil {
		p.Stop()
	}
	return p, address, err
}

// mountAt mounts the service at address for everybody. Listings are trusted for an hour, so that a person
// waits for the one new folder alone.
func mountAt(ctx context.Context, o options, address string) (string, *machine.Process, error) {
	mnt := filepath.Join(o.dir, "mnt")
	if err := os.Mkdir(mnt, 0o755); err != nil { //nolint:gosec // people come through it
		return mnt, nil, err
	}
	log := filepath.Join(o.dir, "mount.log")
	p, err := machine.Start(ctx, `exec "$ARCHIVEFS" mount --base-url "$URL" --api-key "$KEY" --allow-other --umask 000 --state-dir "$DIR/state" --writes "$WRITES" --ttl 1h ${METRICS:+--metrics "$METRICS"} "$MNT"`,
		[]string{"ARCHIVEFS=" + o.program, "URL=http://" + address, "KEY=" + key, "DIR=" + o.dir, "WRITES=" + o.writes, "METRICS=" + o.metrics, "MNT=" + mnt},
		log)
	if err != nil {
		return mnt, nil, err
	}
	return mnt, p, await(ctx, p, log, func() bool { return machine.Mounted(mnt) != "" })
}

// await waits until a process is ready, for five minutes at most.
func await(ctx context.Context, p *machine.Process, log string, ready func() bool) error {
	limit := time.After(5 * time.Minute)
	for !ready() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.Ended():
			text, _ := os.ReadFile(log) //nolint:gosec // below the scratch directory
			return fmt.Errorf("it has ended by itself: %s", text)
		case <-limit:
			return errors.New("it is not ready")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
