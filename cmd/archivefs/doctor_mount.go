package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
)

// mountLimit is how long a mount may take to tell how it is.
const mountLimit = 3 * time.Second

// errSilent says that a mount does not answer.
var errSilent = fmt.Errorf("no answer within %s", mountLimit)

// answers returns an error unless a process is behind the mount at dir, and open to this
// user. It lets other processes look: who asks a mount that hangs cannot be ended any more.
func answers(dir string) error {
	// The attributes of the first look are remembered by the kernel, what the second asks
	// for is not, but open to all.
	for _, args := range [][]string{{"--", dir}, {"-f", "--", dir}} {
		var said bytes.Buffer
		look := exec.Command("stat", args...) //nolint:gosec,noctx // a path; it is not waited for longer than below
		look.Env, look.Stderr = append(os.Environ(), "LC_ALL=C"), &said
		if err := look.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- look.Wait() }()
		limit := time.NewTimer(mountLimit)
		select {
		case err := <-ended:
			limit.Stop()
			if err != nil {
				return errorOf(said.String())
			}
		case <-limit.C:
			_ = look.Process.Kill() // which takes effect when the mount answers
			return errSilent
		}
	}
	return nil
}

// errorOf turns the words of stat(1) back into the error.
func errorOf(said string) error {
	for _, err := range []syscall.Errno{syscall.ENOTCONN, syscall.EACCES, syscall.ENOENT} {
		if strings.HasSuffix(strings.ToLower(strings.TrimSpace(said)), err.Error()) {
			return err
		}
	}
	return errors.New(strings.TrimSpace(said))
}

// askMount asks a mount how it is.
func askMount(dir string) (s doctor.State, err error) {
	if err := answers(dir); err != nil {
		return s, err
	}
	_, status, err := readStatus(dir)
	if err != nil {
		return s, err
	}
	if status.Health == fs.HealthAway {
		s.Away = "no answer"
		if len(status.LastErrors) > 0 {
			s.Away = status.LastErrors[0].Text
		}
	}
	s.Disk, s.Failed = status.Disk, failedUploads(status)
	return s, nil
}
