package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bound is a state directory that belongs to an archive.
type Bound struct {
	State    string
	Identity string // the address of the service and whose credentials, or "embedded:" and the data directory
}

// BoundTo returns which archive a directory belongs to. The error wraps os.ErrNotExist where it
// is no state directory.
func BoundTo(dir string) (Bound, error) {
	known, err := os.ReadFile(filepath.Join(dir, boundName)) //nolint:gosec // the user names it
	if err != nil {
		return Bound{}, fmt.Errorf("state directory: %w", err)
	}
	identity, whole := strings.CutSuffix(string(known), "\n")
	service, _, _ := strings.Cut(identity, " ")
	if !whole || strings.Contains(identity, "\n") || !strings.Contains(service, "://") && !strings.HasPrefix(identity, "embedded:") {
		return Bound{}, fmt.Errorf("%s is no state directory: %w", dir, os.ErrNotExist)
	}
	return Bound{State: dir, Identity: identity}, nil
}

// AllBound lists the state directories of all archives in their default place, without the one
// at but. Other directories there are not read.
func AllBound(but string) ([]Bound, error) {
	home, err := LookHomes("")
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(home.State)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("state directories: %w", err)
	}
	var all []Bound
	for _, e := range entries {
		dir := filepath.Join(home.State, e.Name())
		if !e.IsDir() || !isDirName(e.Name()) || dir == but {
			continue
		}
		if b, err := BoundTo(dir); err == nil { // else a mount never was usable
			all = append(all, b)
		}
	}
	return all, nil
}

// Busy reports whether a process uses the directory, as far as this user may know.
func (b *Bound) Busy() bool {
	busy, err := locked(filepath.Join(b.State, lockName))
	return busy || err != nil
}

// OpenBound locks a state directory of any archive for this process, which runs a command and no
// mount; InUseError.Command shows it to others meanwhile. The error is an *InUseError while
// another process has the directory.
func OpenBound(dir, command string) (*Dirs, error) {
	if _, err := BoundTo(dir); err != nil {
		return nil, err
	}
	d := &Dirs{State: dir, Cache: filepath.Join(dir, "cache")}
	if err := d.take(); err != nil {
		return nil, err
	}
	if err := d.usedBy(command); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}
