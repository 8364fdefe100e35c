package main

import (
	"strings"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

// state examines where mounts of an archive keep what must outlive them. refused says that the
// service does not take their credentials.
func (p *patient) state(identity string, refused bool) []doctor.Finding {
	seen, err := config.LookDirs(p.settings.stateDir, identity)
	if err != nil {
		return []doctor.Finding{doctor.Fail("state", err.Error(), "")}
	}
	state := doctor.Writable("state", seen.State)
	if seen.Busy {
		state = doctor.Fine("state", seen.State+" is in use by a mount")
	}
	findings := []doctor.Finding{state, p.space("uploads", seen.State), p.space("the cache", seen.Cache)}
	if n, err := spool.Waiting(spoolOf(seen.State)); err == nil && n > 0 && !seen.Busy {
		findings = append(findings, doctor.Warn(uploadsCheck, doing(n, "upload", "waits", "wait")+" for a mount in "+seen.State,
			goesOn(seen.State, refused)))
	}
	return append(findings, p.leftBehind(identity, seen.State)...)
}

// uploadsCheck is the check of what mounts that have ended left.
const uploadsCheck = "uploads"

// leftBehind examines what waits for the service in other state directories than the one of
// the mount.
func (p *patient) leftBehind(identity, own string) (findings []doctor.Finding) {
	if p.settings.embedded {
		return nil // its archive has one directory
	}
	service, _, _ := strings.Cut(identity, " ")
	for _, l := range leftBehindAt(service, own) {
		findings = append(findings, doctor.Warn(uploadsCheck, l.inWords(), reach(l.State)))
	}
	return findings
}

// anyState examines where mounts of a service keep theirs: which one it is says who calls.
func (p *patient) anyState(service string) []doctor.Finding {
	seen, err := config.LookHomes(p.settings.stateDir)
	if err != nil {
		return []doctor.Finding{doctor.Fail("state", err.Error(), "")}
	}
	findings := []doctor.Finding{doctor.Writable("state", seen.State), p.space("uploads", seen.State), p.space("the cache", seen.Cache)}
	return append(findings, p.leftBehind(service, "")...)
}

func (p *patient) space(what, dir string) doctor.Finding {
	usage, err := doctor.UsageOf(dir)
	return doctor.Space(what, dir, usage, err, p.settings.keepFree)
}
