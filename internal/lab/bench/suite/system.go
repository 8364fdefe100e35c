//go:build linux

package suite

import (
	"context"
	"slices"

	"github.com/archivefs/archivefs/internal/lab/bench/delay"
)

// system is one way to see the documents in a file system. Its commands find in their
// environment MNT (an empty directory), STATE (an empty directory of its own), HOST, PORT and
// URL of its server, TREE (what that serves) and SERVERS (its files).
type system struct {
	name   string
	needs  []string   // programs beside fusermount3
	root   bool       // works for root only
	server string     // the name of its server, "" for none
	mode   delay.Mode // None: there is no network that could be slow
	volume string     // a command that makes what is mounted, where no server has it
	mount  string     // the command; "" for the plain file system
	only   []string   // groups; nil for all
	synced bool       // files are copied in one by one, each with an fdatasync, instead of by cp -r

	// requests counts what the server was asked so far, nil where nobody counts.
	requests func(ctx context.Context, s *session) (map[string]int, error)
	// arrived tells how many files, of how many bytes, are at the server below IN/name; the
	// bytes are untold where a service keeps them to itself.
	arrived func(ctx context.Context, s *session, name string) (files int, bytes int64, err error)
}

// Names of our own systems.
const (
	native       = "native"
	nativeSynced = "native-fdatasync"
	own          = "archivefs"
	async        = "archivefs-async"
	grace        = "archivefs-grace"
	loopback     = "loopback-fdatasync"
	foreign      = "archivefs-foreign"
	foreignAsync = "archivefs-foreign-async"
)

// systems are all that can be measured, the plain file system first.
func systems() []system {
	ours := func(name, server, options string, only ...string) system {
		return system{
			name: name, server: server, mode: delay.HTTP, mount: ownMount(options), only: only, requests: statusRequests, arrived: arrivedAtService,
		}
	}
	return append([]system{
		{name: native, root: true, arrived: arrivedInTree},
		{name: nativeSynced, only: []string{groupCopy}, synced: true, arrived: arrivedInTree},
		ours(own, ownService, ""),
		{name: loopback, only: []string{groupCopy}, mount: loopbackMount, arrived: arrivedInMount},
		ours(async, ownService, "--writes async", groupCopy),
		ours(grace, ownService, "--writes async --grace 10s", groupCopy),
		ours(foreign, foreignService, ""),
		ours(foreignAsync, foreignService, "--writes async", groupCopy),
	}, peers()...)
}

// loopbackMount mounts a directory by a program beside this one, which syncs each file when it is closed.
const loopbackMount = `mkdir -p "$STATE/files/IN" && exec "$LOOPBACK" "$STATE/files" "$MNT"`

// ownMount is the command that mounts archivefs.
func ownMount(options string) string {
	return `exec "$ARCHIVEFS" mount --base-url "$URL" --api-key "$KEY" --state-dir "$STATE/own" --log-level warn ` + options + ` "$MNT"`
}

// systemOf returns the system of that name, which there must be.
func systemOf(name string) *system {
	all := systems()
	return &all[slices.IndexFunc(all, func(s system) bool { return s.name == name })]
}

// runs tells whether a group makes sense for a system.
func (s system) runs(g group) bool {
	if s.only != nil && !slices.Contains(s.only, g.name) {
		return false
	}
	if g.slow && s.mode == delay.None && s.mount != "" {
		return false
	}
	return s.arrived != nil || !g.copy
}

// Systems are the names of all systems.
func Systems() []string {
	var names []string
	for _, s := range systems() {
		names = append(names, s.name)
	}
	return names
}

// Workloads are the names of all groups of workloads.
func Workloads() []string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return append(names, groupService, groupGrowth)
}
