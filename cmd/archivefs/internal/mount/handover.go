package mount

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/fusectl"
)

// The process of a mount that was unmounted has its state directory until it has sent what waits, for
// minutes perhaps. A mount that comes meanwhile asks it to leave that to the next one, and waits.

const (
	// handoverGrace is how long uploads in flight have to end by themselves when another process waits.
	// What is cut off is sent once more, after a while in which it may still arrive.
	handoverGrace = 3 * time.Second
	// handoverPatience is how long a mount waits for another one to end: longer than that takes, and
	// shorter than a service manager waits for a mount (systemd.mount(5), 90 s).
	handoverPatience = time.Minute
)

// takeOver opens state directories. It waits while the process that has them ends.
func takeOver(ctx context.Context, stderr io.Writer, open func() (*config.Dirs, error)) (*config.Dirs, error) {
	ctx, cancel := context.WithTimeout(ctx, handoverPatience)
	defer cancel()
	var asks io.Closer
	for began := time.Now(); ; {
		dirs, err := open()
		var used *config.InUseError
		if !errors.As(err, &used) || used.Mountpoint == "" || !used.Ending && isInUse(used) {
			return dirs, err
		}
		if !used.Ending && time.Since(began) > mounted.NoticesSoon {
			used.Detached = true
			return nil, used
		}
		if asks == nil {
			if asks, err = config.Hasten(used.State); err == nil { // else another one asks
				defer asks.Close() //nolint:errcheck,gocritic // nothing was written; once
				command.Say(stderr, "waiting for the mount that was at %s%s: it ends, and leaves to this one what is not archived", used.Mountpoint, used.Process())
			}
		}
		if command.Pause(ctx) != nil {
			return nil, used
		}
	}
}

// isInUse reports whether an archive is mounted where the holder of a state directory has mounted it, as
// the holder sees it or this process.
func isInUse(by *config.InUseError) bool {
	if fusectl.Mounts("self") == nil { // some systems have no list
		_, _, err := mounted.Status(by.Mountpoint)
		return err == nil
	}
	_, there := mounted.SeenBy(strconv.Itoa(by.PID), by.Mountpoint)
	_, here := mounted.SeenBy("self", by.Mountpoint)
	return there || here
}

// handOver ends what is in flight, because another process waits, after it had a moment to end by itself.
// No further upload is begun since drain. It returns when nothing is in flight, or ctx ends.
func (s *session) handOver(ctx context.Context) {
	s.log.Info("the next mount takes over what is not archived")
	err := errors.Join(s.client.Pause(ctx, handoverGrace), s.fs.Close(ctx))
	if err != nil {
		s.log.Debugf("uploads: %v", err)
	}
}
