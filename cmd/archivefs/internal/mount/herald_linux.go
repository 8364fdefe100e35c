package mount

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/kdirnotify"
)

// HeraldVariable in the environment marks a herald, a process that tells programs of changes by the
// system calls that would have made them (fs.Herald). It writes the id of its thread, and reads a tidings.
const HeraldVariable = "_ARCHIVEFS_HERALD"

// heraldLimit is how long a herald may take.
const heraldLimit = 10 * time.Second

// tidings are what a herald tells.
type tidings struct {
	Folder  string // its path
	Changes []fs.Change
}

// herald tells changes in the folder at a path: by a herald, and to the programs of KDE.
func (s *session) herald(ctx context.Context, path string, begun func(thread uint32), changes []fs.Change) error {
	program, err := ownProgram()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, heraldLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program) //nolint:gosec // it is this one
	cmd.Env, cmd.Dir, cmd.WaitDelay = append(os.Environ(), HeraldVariable+"=1"), "/", time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = send(in, out, begun, tidings{Folder: path, Changes: changes})
	err = errors.Join(err, cmd.Wait())
	if bus := sessionBus(); bus != "" {
		err = errors.Join(err, tellKDE(ctx, bus, path, changes))
	}
	return err
}

// send sends a herald on its way.
func send(in io.WriteCloser, out io.Reader, begun func(thread uint32), t tidings) error {
	defer in.Close() //nolint:errcheck // the herald notices what is missing
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	thread, err := strconv.ParseUint(strings.TrimSpace(line), 10, 32)
	if err != nil {
		return err
	}
	begun(uint32(thread))
	return gob.NewEncoder(in).Encode(t)
}

// sessionBus is the address of the session bus, empty if there is none. None is started.
func sessionBus() string {
	if bus := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); bus != "" && bus != "autolaunch:" {
		return bus
	}
	return ""
}

func tellKDE(ctx context.Context, bus, path string, changes []fs.Change) error {
	var gone []string
	come := false
	for _, c := range changes {
		switch {
		case c.Picture: // Dolphin looks at no file again that has the same size and date
		case c.Gone:
			gone = append(gone, c.Name)
		default:
			come = true
		}
	}
	if !come && len(gone) == 0 {
		return nil
	}
	return kdirnotify.Tell(ctx, bus, path, come, gone)
}

// Proclaim is the herald. It goes on after a name that cannot be told.
func Proclaim(in io.Reader, out io.Writer) error {
	runtime.LockOSThread() // the mount knows the herald by its thread
	defer runtime.UnlockOSThread()
	if _, err := fmt.Fprintln(out, unix.Gettid()); err != nil {
		return err
	}
	var t tidings
	if err := gob.NewDecoder(in).Decode(&t); err != nil {
		return err
	}
	folder, err := unix.Open(t.Folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(folder) //nolint:errcheck // nothing was written
	for _, c := range t.Changes {
		switch {
		case c.Picture:
			_ = unix.Fchmodat(folder, c.Name, 0o600, 0)
		case c.Gone:
			if err := unix.Unlinkat(folder, c.Name, 0); errors.Is(err, unix.EISDIR) {
				_ = unix.Unlinkat(folder, c.Name, unix.AT_REMOVEDIR)
			}
		case c.Folder:
			_ = unix.Mkdirat(folder, c.Name, 0o700)
		default:
			_ = unix.Mknodat(folder, c.Name, unix.S_IFREG|0o600, 0)
		}
	}
	return nil
}

// ownProgram is a path to the running program, even if its file was replaced.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

// inheritNothing marks all descriptors except the standard ones as close-on-exec: whoever waits for
// the end of such a file would wait for the end of the mount.
func inheritNothing() {
	// An old kernel lacks this; then they stay open.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}
