//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// begin stands in for systemctl start archivefs@office-PERSON: it mounts the archive of a person, unless
// that is there. It ends when the mount can be used.
const begin = `#!/bin/bash
mnt=%[1]s/mnt-$1
%[2]q status "$mnt" >/dev/null 2>&1 && exit
%[2]q mount --daemon=false --config %[1]s/config.toml --drain 20s "office-$1" >>"%[1]s/mount-$1.log" 2>&1 </dev/null &
echo $! >"%[1]s/mount-$1.pid"
until %[2]q status "$mnt" >/dev/null 2>&1; do kill -0 $! || exit; sleep .1; done
`

// mountOf is where the mount of a person is.
func (h *Host) mountOf(person string) string { return filepath.Join(h.dir, "mnt-"+person) }

// eachOf makes what archivefs share samba --each takes for granted, and a section of it for this machine.
func (h *Host) eachOf(section string) (string, error) {
	profile, err := os.ReadFile(h.profile)
	if err != nil {
		return "", err
	}
	service := string(profile[:strings.Index(string(profile), "mountpoint")])
	for i := range h.options.People {
		p, id := Person(i), firstPerson+i
		h.mounts = append(h.mounts, h.mountOf(p))
		profile = fmt.Appendf(profile, "\n%s\nmountpoint = %q\nstate-dir = %q\nallow-other = true\nuid = %d\ngid = %d\nwindows-names = true\n",
			strings.Replace(service, "profile.office", "profile.office-"+p, 1), h.mountOf(p), filepath.Join(h.dir, "state-"+p), id, id)
		if err := os.Mkdir(h.mountOf(p), 0o700); err != nil {
			return "", err
		}
	}
	start := filepath.Join(h.dir, "start")
	err = errors.Join(os.WriteFile(h.profile, profile, 0o600), os.WriteFile(start, fmt.Appendf(nil, begin, h.dir, h.program), 0o700)) //nolint:gosec // a program
	section = strings.Replace(section, "/mnt/office-", h.mountOf(""), 1)
	return strings.Replace(section, "/usr/bin/systemctl start archivefs@office-", start+" ", 1), err
}

// KillMountOf kills the mount of a person.
func (h *Host) KillMountOf(person string) error {
	pid, err := h.pidOf(person)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	return err
}

// RemountOf mounts the archive of a person again, as its unit does after a crash.
func (h *Host) RemountOf(ctx context.Context, person string) error {
	_, err := h.run(ctx, filepath.Join(h.dir, "start"), person)
	return err
}

func (h *Host) pidOf(person string) (int, error) {
	text, err := os.ReadFile(filepath.Join(h.dir, "mount-"+person+".pid")) //nolint:gosec // a file of this machine
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// unmountEach ends the mounts of all persons.
func (h *Host) unmountEach(ctx context.Context) (err error) {
	for i := range h.options.People {
		if !h.options.Each || machine.Mounted(h.mountOf(Person(i))) == "" {
			continue
		}
		err = errors.Join(err, machine.Unmount(ctx, h.mountOf(Person(i))))
	}
	return err
}
