package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/internal/durable"
)

// Bound is a state directory that belongs to an archive.
type Bound struct {
	State, Cache string
	Identity     string // the address of the service and whose credentials, or "embedded:" and the data directory
}

// BoundTo returns which archive a directory belongs to. The error wraps os.ErrNotExist where it is no state directory.
func BoundTo(dir string) (Bound, error) {
	known, err := os.ReadFile(filepath.Join(dir, boundName)) //nolint:gosec // the user names it
	if err != nil {
		return Bound{}, fmt.Errorf("state directory: %w", err)
	}
	b := Bound{State: dir, Cache: filepath.Join(dir, "cache")}
	identity, whole := strings.CutSuffix(string(known), "\n")
	b.Identity = identity
	if !whole || strings.Contains(identity, "\n") || !strings.Contains(b.Service(), "://") && !strings.HasPrefix(identity, "embedded:") {
		return Bound{}, fmt.Errorf("%s is no state directory: %w", dir, os.ErrNotExist)
	}
	return b, nil
}

// Service is the address of the service.
func (b *Bound) Service() string {
	service, _, _ := strings.Cut(b.Identity, " ")
	return service
}

// Caller is whose credentials the directory belongs to, without a secret.
func (b *Bound) Caller() string {
	_, caller, _ := strings.Cut(b.Identity, " ")
	return caller
}

// ByKey reports whether it belongs to an API key alone, which may be renewed, and not to a name.
func (b *Bound) ByKey() bool { return strings.HasPrefix(b.Caller(), "key:") }

// AllBound lists the state directories of all archives in their default place, as far as they can be read, without
// the one at but. Other directories there are not read.
func AllBound(but string) (all []Bound) {
	home, err := LookHomes("")
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(home.State)
	for _, e := range entries {
		dir := filepath.Join(home.State, e.Name())
		if name, err := hex.DecodeString(e.Name()); !e.IsDir() || err != nil || len(name) != 8 || dir == but { // see dirName
			continue
		}
		if b, err := BoundTo(dir); err == nil { // else a mount never was usable
			b.Cache = filepath.Join(home.Cache, e.Name())
			all = append(all, b)
		}
	}
	return all
}

// Earlier lists the state directories that may be those of identity, which has none, under an API key that was
// renewed since: those of another key for the same service, which mounts of the same profile used, the last used
// first. dir is that of --state-dir.
func Earlier(dir, profile, identity string) (earlier []Bound) {
	all, own := AllBound(""), Bound{Identity: identity}
	if dir != "" {
		b, _ := BoundTo(dir)
		all = []Bound{b}
	}
	for _, b := range all {
		was, err := os.ReadFile(filepath.Join(b.State, profileName))
		switch {
		case b.Identity == identity:
			return nil
		case b.ByKey() && b.Service() == own.Service() && (err != nil || string(was) == profile) && owned(b.State) == nil:
			earlier = append(earlier, b)
		}
	}
	slices.SortFunc(earlier, func(a, b Bound) int { return b.used().Compare(a.used()) })
	return earlier
}

// used is when a process opened it last.
func (b *Bound) used() (last time.Time) {
	if info, err := os.Stat(filepath.Join(b.State, lockName)); err == nil {
		last = info.ModTime()
	}
	return last
}

// UsedFor notes the profile of the mount, empty for none, for Earlier.
func (d *Dirs) UsedFor(profile string) error {
	return os.WriteFile(filepath.Join(d.State, profileName), []byte(profile), 0o600)
}

// Busy reports whether a process uses the directory, as far as this user may know.
func (b *Bound) Busy() bool {
	busy, err := locked(filepath.Join(b.State, lockName))
	return busy || err != nil
}

// Open locks the directories for this process, before a Rebind. The error is an *InUseError while another process
// has them.
func (b *Bound) Open() (*Dirs, error) {
	d := &Dirs{State: b.State, Cache: b.Cache}
	if err := d.take(); err != nil {
		return nil, err
	}
	if _, err := d.boundTo(b.Identity); err != nil { // another process was faster
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// OpenBound locks a state directory of any archive for this process, which runs a command and no mount;
// InUseError.Command shows it to others meanwhile. The error is an *InUseError while another process has the directory.
func OpenBound(dir, command string) (*Dirs, error) {
	b, err := BoundTo(dir)
	if err != nil {
		return nil, err
	}
	d, err := b.Open()
	if err != nil {
		return nil, err
	}
	if err := d.usedBy(command); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Seen is what can be seen of the state directories of an archive.
type Seen struct {
	State, Cache string
	Made         bool // a mount has made them
	Busy         bool // a mount is using them
}

// LookDirs looks at the state directories that OpenDirs would open. The error is why OpenDirs
// would fail. It changes nothing.
func LookDirs(dir, identity string) (Seen, error) {
	d, err := dirsOf(dir, identity)
	if err != nil {
		return Seen{}, err
	}
	s := Seen{State: d.State, Cache: d.Cache}
	if err := d.usable(); err != nil {
		return s, err
	}
	if s.Made, err = d.boundTo(identity); s.Made {
		s.Busy, err = locked(filepath.Join(d.State, lockName))
	}
	return s, err
}

// LookHomes looks at where the state directories of any archive lie: dir, or what is above those of each.
func LookHomes(dir string) (Seen, error) {
	if dir != "" {
		return Seen{State: dir, Cache: filepath.Join(dir, "cache")}, unused(dir)
	}
	state, err := xdg("XDG_STATE_HOME", ".local/state", "state-dir")
	if err != nil {
		return Seen{}, err
	}
	caches, err := xdg("XDG_CACHE_HOME", ".cache", "state-dir")
	return Seen{State: filepath.Join(state, "archivefs"), Cache: filepath.Join(caches, "archivefs")}, err
}

// locked reports whether a process holds the lock. It takes the lock for a moment, beside others that only look.
func locked(path string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // below our own directory
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("state directory: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// missing lists dir and the directories above it that are not there, the deepest first.
func missing(dir string) []string {
	var all []string
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			return all
		}
		all = append(all, dir)
		dir = filepath.Dir(dir)
	}
}

// Discard unlocks the directories as Close does and removes what was made since OpenDirs, for a
// mount that never became usable: nothing was stored yet. What was there before stays, and so
// does a spool that holds something. The caller closes the stores before.
func (d *Dirs) Discard() error {
	if !d.fresh {
		return d.Close()
	}
	if err := d.clear(); err != nil {
		return errors.Join(fmt.Errorf("remove new state directory: %w", err), d.Close())
	}
	err := d.Close()
	removeEmpty(d.made) // what OpenDirs made
	return err
}

// clear removes what lies in the directories. The binding and the lock go last: with them a
// mount can go on after a crash.
func (d *Dirs) clear() error {
	if slices.Contains(d.made, d.Cache) {
		if err := os.RemoveAll(d.Cache); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(d.State)
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		path := filepath.Join(d.State, e.Name())
		switch {
		case e.Name() == boundName, e.Name() == lockName:
		case !e.IsDir():
			files = append(files, path)
		default: // the spool, which goes when it is empty, or a cache that another mount makes and removes before it sees the lock
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if err := removeAll(files); err != nil {
		return err
	}
	// A crash of the machine must not bring back files without the binding: the directory
	// would be taken for somebody else's.
	if err := durable.SyncDir(d.State); err != nil {
		return err
	}
	return removeAll([]string{filepath.Join(d.State, boundName), filepath.Join(d.State, lockName)})
}

func removeAll(files []string) error {
	for _, path := range files {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// removeEmpty removes files, and directories as far as they are empty.
func removeEmpty(paths []string) {
	for _, path := range paths {
		_ = os.Remove(path) // another program may have put something there meanwhile
	}
}
