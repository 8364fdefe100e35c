package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/doctor"
)

// mountinfo is what is mounted in the mount namespace of a process, or of this one, "self". It is
// empty where the system does not tell.
func mountinfo(process string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", process, "mountinfo")) //nolint:gosec // below /proc
	return string(text)
}

// mountAt is the archive that is known to be mounted at dir. It asks the kernel and not the mount,
// which may not answer.
func mountAt(dir string) (found doctor.Mounted, ok bool) {
	dir = behindLinks(dir)
	for _, m := range doctor.Mounts(mountinfo("self")) {
		if m.Dir == dir {
			found, ok = m, true
		}
	}
	return found, ok
}

// behindLinks is the directory that dir names, where a mount may be that does not answer: it is
// not looked at.
func behindLinks(dir string) string {
	for range 40 { // as many as Linux follows
		if above, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
			dir = filepath.Join(above, filepath.Base(dir))
		}
		target, err := os.Readlink(dir)
		if err != nil {
			return dir
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(dir), target)
		}
		dir = target
	}
	return dir
}

// place is where an archive is mounted: as a process sees it, or this one, "self".
type place struct {
	process string
	doctor.Mounted
}

// otherPlaces are those where an archive is mounted beside dir, one of each mount namespace.
// Processes of other users are not asked, but by root.
func otherPlaces(dir string) (places []place) {
	here, ok := mountAt(dir)
	if !ok {
		return nil
	}
	namespace := func(process string) string {
		name, _ := os.Readlink(filepath.Join("/proc", process, "ns", "mnt"))
		return name
	}
	asked := []string{"", namespace("self")}
	look := func(process string) {
		for _, m := range doctor.Mounts(mountinfo(process)) {
			if m.Device == here.Device && m.ID != here.ID {
				places = append(places, place{process, m})
				return
			}
		}
	}
	look("self")
	processes, _ := os.ReadDir("/proc")
	for _, process := range processes {
		if _, err := strconv.Atoi(process.Name()); err != nil {
			continue
		}
		if of := namespace(process.Name()); !slices.Contains(asked, of) {
			asked = append(asked, of)
			look(process.Name())
		}
	}
	return places
}

// hidden says how to find who has a mount that goes on nowhere where this user may look.
func hidden(m doctor.Mounted) string {
	if os.Geteuid() == 0 {
		return "a mount namespace that no process is in, or a file that is open in one, keeps it: findmnt -t nsfs shows such"
	}
	return fmt.Sprintf("something that you may not see has it as well, as a container does; as root: grep -l ' %s ' /proc/[0-9]*/mountinfo", m.Device)
}

// left says which of the places is still one, and how it is unmounted there, too; empty for none. The number of
// a device is another one's as soon as it is free, but not that of a mount with it.
func left(places []place) string {
	for _, p := range places {
		if !slices.Contains(doctor.Mounts(mountinfo(p.process)), p.Mounted) {
			continue
		}
		if p.process == "self" {
			return fmt.Sprintf("it is mounted at %s as well; unmount that, too: umount %s", archive.Printable(p.Dir), doctor.Quoted(p.Dir))
		}
		name, _ := os.ReadFile(filepath.Join("/proc", p.process, "comm"))
		return fmt.Sprintf("process %s (%s) has it in a mount namespace of its own, as in a container; end that, or as root: nsenter -m -t %s umount %s",
			p.process, archive.Printable(strings.TrimSpace(string(name))), p.process, doctor.Quoted(p.Dir))
	}
	return ""
}
