//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/direct"
	"github.com/archivefs/archivefs/internal/lab/fill"
)

// The archive: Mandator has the folders Letters and Offers, and scanners write to Inbox.
const (
	Mandator = "Muster GmbH"
	Letters  = Mandator + "/Letters"
	Offers   = Mandator + "/Offers"
	Inbox    = "inboxes/Administrator"
	// Many has ManyDocuments documents, if they were there at the beginning.
	Many = Mandator + "/Many"
)

// ManyDocuments is the number of documents in a large folder.
const ManyDocuments = 100_000

// Old are the documents of an archive at its beginning, by path.
func Old() map[string]string {
	return map[string]string{Letters + "/Old letter.txt": "An old letter.\n", Letters + "/a:b?.pdf": "%PDF-1.7\na question\n%%EOF\n", Letters + "/con.txt": "Contacts.\n", Offers + "/Old offer.txt": "An old offer.\n"}
}

// Large are documents for Many.
func Large() map[string]string {
	all := make(map[string]string, ManyDocuments)
	for i := range ManyDocuments {
		all[fmt.Sprintf("%s/Rechnung Nr. %06d.txt", Many, i)] = fmt.Sprintf("Rechnung %d\n", i)
	}
	return all
}

// key is the API key of the service, which only this machine can reach.
const key = "office"

// Archive is an archive service of this machine. It is asked past all mounts.
type Archive struct {
	*direct.Archive
	program, dir string
	address      string
	process      *machine.Process
	mounts       []string // of all machines that exported it
}

// Serve starts a service with a new archive, with its files below dir, and these documents beside the
// sample.
func Serve(ctx context.Context, program, dir string, documents map[string]string) (*Archive, error) {
	for path, text := range documents {
		file := filepath.Join(dir, "tree", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return nil, err
		}
	}
	a := &Archive{program: program, dir: dir}
	var err error
	if a.address, err = machine.FreeAddress(ctx); err != nil {
		return nil, err
	}
	a.Archive = direct.At(a.address, key)
	if err := a.Start(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, os.Chmod(dir, 0o755) //nolint:gosec // others reach the mounts
}

// Start starts the service, again after it was killed.
func (a *Archive) Start(ctx context.Context) error {
	data := filepath.Join(a.dir, "data")
	var err error
	if a.process == nil {
		if err = fill.Tree(ctx, data, filepath.Join(a.dir, "tree"), true); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("exec %q serve --data %q --listen %s --api-key %s --log-level warn", a.program, data, a.address, key)
	if a.process, err = machine.Start(ctx, line, []string{"HOME=" + a.dir}, filepath.Join(a.dir, "service.log")); err != nil {
		return err
	}
	return a.process.Ready(ctx, "the archive service", patience, func() bool { return a.Ready(ctx) })
}

// Kill kills the service, as a crash of its machine does.
func (a *Archive) Kill() { kill(a.process) }

// PID is the number of the service's process.
func (a *Archive) PID() int { return a.process.PID() }

// Close ends the service, and what is left of all that ran.
func (a *Archive) Close() {
	if a.process != nil {
		a.process.Stop()
	}
	machine.End(machine.Family(), 5*time.Second) // a process that Samba left
}

// Remove removes all files, unless something is mounted among them still.
func (a *Archive) Remove() error {
	for _, m := range a.mounts {
		if machine.Mounted(m) != "" {
			return fmt.Errorf("%s is still mounted", m)
		}
	}
	return os.RemoveAll(a.dir)
}

func kill(p *machine.Process) {
	_ = syscall.Kill(p.PID(), syscall.SIGKILL) // it may have ended by itself
	<-p.Ended()
}

// Until waits for something that shall come.
func Until(ctx context.Context, what string, come func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it did not come"))
	defer cancel()
	for {
		there, err := come()
		if there {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(context.Cause(ctx), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute
