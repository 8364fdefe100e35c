//go:build linux

package lab

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/writer"
)

// told is what an answer says to the program that got it. The kernel answers for a mount that
// has gone, and with EIO where the process was killed while it took the request over
// (fuse_dev_do_read). The caller holds mu.
func (r *run) told(e writer.Event) audit.Told {
	switch e.Errno { // every other one is an answer
	case 0:
		return audit.OK
	case syscall.ENOTCONN, syscall.ECONNABORTED:
		return audit.Nothing
	case syscall.EIO:
		if r.program.dying() {
			return audit.Nothing
		}
	}
	return audit.Failed
}

// upload is a line of archivefs uploads list --json.
type upload struct {
	ID, State, Path, Error string
	Directory              bool
}

// inspect waits for the mount to come to rest and takes down what it shows.
func (r *run) inspect(ctx context.Context) error {
	var uploads []upload
	if err := r.person(ctx, "send"); err != nil { // ends every time of grace
		return err
	}
	text, err := output(r.bench.helper(ctx, wordInspect, r.mountpoint()))
	if err == nil {
		err = json.Unmarshal(text, &r.found)
	}
	if err != nil {
		return err
	}
	for _, text := range r.found.Errors {
		err = errors.Join(err, errors.New(text))
	}
	list := exec.CommandContext(ctx, r.bench.Program, "uploads", "list", "--json", r.mountpoint()) //nolint:gosec // the program under test
	text, lerr := output(list)
	if lerr == nil {
		lerr = json.Unmarshal(text, &uploads)
	}
	for _, u := range uploads {
		if u.State == "local" { // the folders show it
			r.local = append(r.local, u.Path)
			continue
		}
		content, there := r.found.Kept[u.ID]
		r.outcome.Kept = append(r.outcome.Kept, audit.Kept{
			ID: u.ID, Name: u.Path, State: u.State, Reason: u.Error, Content: content,
			Directory: u.Directory, Broken: !u.Directory && (!there || u.Path == "/"+u.ID),
		})
	}
	return errors.Join(err, lerr)
}

// retryAll has all that failed sent again, and waits for the mount to come to rest.
func (r *run) retryAll(ctx context.Context) error {
	if err := r.person(ctx, "retry"); err != nil {
		return err
	}
	_, err := output(r.bench.helper(ctx, wordInspect, r.mountpoint()))
	return err
}

// person does something with all uploads, as a person does. The command leaves out what is no whole file,
// and says so with its status, as it does of what fails again.
func (r *run) person(ctx context.Context, does string) error {
	_, err := output(exec.CommandContext(ctx, r.bench.Program, "uploads", does, r.mountpoint())) //nolint:gosec // the program under test
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

// output runs a command and returns what it prints; the error holds what it complains about.
func output(cmd *exec.Cmd) ([]byte, error) {
	text, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w: %s", path.Base(cmd.Path), err, failed.Stderr)
	}
	return text, err
}

// takeStock makes an outcome of what was noted and found. A late request may have changed documents after
// they were looked at.
func (r *run) takeStock(late bool) {
	for _, d := range r.docs {
		r.outcome.Files = append(r.outcome.Files, *d.files[0])
	}
	for _, w := range r.works {
		r.outcome.Folders = append(r.outcome.Folders, w.conclude()...)
	}
	for _, f := range r.files {
		r.outcome.Files = append(r.outcome.Files, *f)
	}
	for _, p := range r.proxy.Passed() {
		r.outcome.Passed = append(r.outcome.Passed, audit.Passed{Sum: p.Sum, Time: p.Time})
	}
	documents := map[string][]audit.Sum{} // of one name may be several
	for _, d := range r.outcome.Archive {
		name := path.Join(d.Folder, d.Name)
		documents[name] = append(documents[name], d.Sum)
	}
	for _, k := range r.outcome.Kept {
		delete(documents, k.Name) // accepted, and failed later: its folder shows the new bytes
	}
	for _, name := range r.local {
		delete(documents, name) // so it does of what was cut off before it replaced a document
	}
	for name, content := range r.found.Files {
		sums, archived := documents[name]
		switch {
		case !archived:
			r.outcome.Local = append(r.outcome.Local, audit.Local{Name: name, Content: content})
		case r.h.Service.Originals() && !late:
			r.outcome.Reads = append(r.outcome.Reads, audit.Read{What: "a look at " + name, Got: sha256.Sum256(content), Want: sums})
		}
	}
}
