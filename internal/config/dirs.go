package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/internal/durable"
)

// Dirs are the directories in which a mount keeps what must outlive it.
type Dirs struct {
	State string // the spool, and what users said: must not be lost
	Cache string // contents and learned sizes: can be thrown away
	lock  *os.File

	mountpoint string   // see MountedAt
	links      []string // the link from there, and the directories that were made for it, the deepest first

	fresh bool     // State belonged to no archive before
	made  []string // directories that were not there, those below others first
}

// Files in the state directory.
const (
	lockName    = "lock"
	boundName   = "archive" // the identity of the archive
	hastenName  = "hasten"  // see Hasten
	profileName = "profile" // see UsedFor
)

// xdg is a base directory of the XDG specification: from the environment when that is an
// absolute path, else below the home directory. Without a home the error names the option.
func xdg(env, below, option string) (string, error) {
	if dir := os.Getenv(env); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := homeDir()
	if err != nil {
		return "", fmt.Errorf("find a default directory: %w; name one with --%s", err, option)
	}
	return filepath.Join(home, below), nil
}

// homeDir is the home directory of the user, also where the environment lacks it, as under mount(8) and the system's
// service manager: what waits to be archived lies in the same place then.
func homeDir() (string, error) {
	if home, err := os.UserHomeDir(); err == nil {
		return home, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	if u.HomeDir == "" {
		return "", errors.New("the user has no home directory")
	}
	return u.HomeDir, nil
}

// dirsOf names the directories of an archive. After a Rebind those in the default place have the name of another
// identity, whose own have the next name.
func dirsOf(dir, identity string) (*Dirs, error) {
	if dir != "" {
		return &Dirs{State: dir, Cache: filepath.Join(dir, "cache")}, nil
	}
	home, err := LookHomes("")
	if err != nil {
		return nil, err
	}
	name, taken := dirName(identity), map[string]bool{}
	for _, b := range AllBound("") {
		if b.Identity == identity {
			return &Dirs{State: b.State, Cache: b.Cache}, nil
		}
		taken[filepath.Base(b.State)] = true
	}
	for taken[name] {
		name = dirName(name)
	}
	return &Dirs{State: filepath.Join(home.State, name), Cache: filepath.Join(home.Cache, name)}, nil
}

// OpenDirs makes the state directories of the archive with the given identity (no secret) and locks them for this
// process. With dir set, everything lies below it; else below the XDG state and cache homes, in a directory per
// archive. A directory of another archive is refused, so that what waits in it never reaches the wrong one.
func OpenDirs(dir, identity string) (*Dirs, error) {
	d, err := dirsOf(dir, identity)
	if err != nil {
		return nil, err
	}
	if err := d.usable(); err != nil {
		return nil, err
	}
	for _, p := range []string{d.State, d.Cache} {
		d.made = append(missing(p), d.made...)
		if err := private(p); err != nil {
			removeEmpty(d.made)
			return nil, err
		}
	}
	if err := d.take(); err != nil {
		return nil, err
	}
	if err := d.bind(identity); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// dirName is what the directories of an archive are called in the state and cache homes.
func dirName(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:8])
}

// usable refuses directories that no mount of this user may use.
func (d *Dirs) usable() error {
	return cmp.Or(unused(d.State), owned(d.State), owned(d.Cache))
}

// owned refuses a directory of another user. Root could write to it, but would leave files that
// its owner can neither read nor remove.
func owned(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // it is made, or that says what is wrong
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return nil
	}
	owner := strconv.FormatUint(uint64(stat.Uid), 10)
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	return fmt.Errorf("%s belongs to the user %s; mount as that user, or name another directory with --state-dir", dir, owner)
}

// unused refuses a directory that holds files and is no state directory, before its mode is changed.
func unused(dir string) error {
	foreign, err := holdsOthers(dir, boundName, lockName, hastenName, "cache")
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if foreign {
		return fmt.Errorf("%s is no state directory and not empty; name an empty or new one with --state-dir", dir)
	}
	return nil
}

// holdsOthers reports whether a directory holds other files than ours: it lacks the file mark,
// and has others than those that we make before it. A directory that is not there holds nothing.
func holdsOthers(dir, mark string, before ...string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	before = append(before, "lost+found") // of a fresh disk
	others := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == mark:
			return false, nil
		case !slices.Contains(before, name) && !strings.HasPrefix(name, ".tmp-"):
			others = true
		}
	}
	return others, nil
}

// private makes a directory for the user alone.
func private(dir string) error {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

// bind remembers which archive the directory belongs to, and refuses another.
func (d *Dirs) bind(identity string) error {
	bound, err := d.boundTo(identity)
	if err != nil || bound {
		return err
	}
	d.fresh = true
	return d.Rebind(identity)
}

// Rebind gives the directories to other credentials of the same user, also while they are in use. Nothing
// moves, so that there is no moment at which they belong to nobody.
func (d *Dirs) Rebind(identity string) error {
	if err := durable.WriteFile(filepath.Join(d.State, boundName), []byte(identity+"\n"), 0o600); err != nil {
		return fmt.Errorf("bind state directory: %w", err)
	}
	return nil
}

// boundTo reports whether the directory belongs to the archive, and not to none. That it belongs
// to another one is an error.
func (d *Dirs) boundTo(identity string) (bool, error) {
	known, err := os.ReadFile(filepath.Join(d.State, boundName))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("state directory: %w", err)
	case string(known) != identity+"\n":
		return false, fmt.Errorf("the state directory %s belongs to another archive or other credentials (%q, not %q); "+
			"name another directory with --state-dir; archivefs uploads list %s shows what waits in that one", d.State, string(known[:max(0, len(known)-1)]), identity, d.State)
	}
	return true, nil
}

// Close unlocks the directories.
func (d *Dirs) Close() error {
	if state, err := StateAt(d.mountpoint); err == nil && state == d.State { // else the link is another mount's by now
		removeEmpty(d.links) // a link that stays misleads nobody: nothing is mounted there
	}
	if err := d.lock.Close(); err != nil {
		return fmt.Errorf("unlock state directory: %w", err)
	}
	return nil
}

// DataDir returns the absolute path of the directory in which the embedded service keeps its archive: dir, or, when
// that is empty, one in the XDG data home. A directory that holds other files is refused. Nothing is made.
func DataDir(dir string) (string, error) {
	if dir == "" {
		base, err := xdg("XDG_DATA_HOME", ".local/share", "data")
		if err != nil {
			return "", err
		}
		dir = filepath.Join(base, "archivefs")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", WrongOption("data", "%v", err)
	}
	foreign, err := holdsOthers(dir, "archive.db", "lock", "contents", "api-key")
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	if foreign {
		return "", fmt.Errorf("%s is no archive of this program and not empty; name an empty or new directory with --data", dir)
	}
	return dir, nil
}
