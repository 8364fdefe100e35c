package writer

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	"github.com/pkg/xattr"
)

// outcomeFor is how long a person waits to see whether a file fails.
const outcomeFor = 2 * time.Second

// createAndRetry creates a file and, when it failed, has it sent again, as a person does. A
// file that could not be written whole is left alone: retried it is sent as it is, and half
// a file in the archive would be the person's wish.
func (p *process) createAndRetry() error {
	err := p.create(p.path())
	p.answer(err)
	var failed *stepError
	if errors.As(err, &failed) && failed.step != "close" {
		return err
	}
	id, ok := p.failedUpload()
	if !ok {
		return err
	}
	p.say(Event{Mark: Again})
	p.wait()
	_ = p.retry(id) // what was not retried stays failed
	return err
}

// failedUpload returns the id of the upload of the file, when it failed in time.
func (p *process) failedUpload() (id string, ok bool) {
	for deadline := time.Now().Add(outcomeFor); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		status, err := readStatus(p.Root)
		if err != nil {
			return "", false
		}
		id, state := "", ""
		for _, u := range status.Uploads.List {
			if path.Base(u.Path) == p.Name {
				id, state = u.ID, u.State
			}
		}
		if state == "failed" || id == "" && status.Uploads.Sending == 0 {
			return id, id != ""
		}
	}
	return "", false
}

// retry asks for an upload to be sent again, by the command or by the attribute.
func (p *process) retry(id string) error {
	if p.Index%2 == 0 {
		return exec.CommandContext(context.Background(), p.Program, "uploads", "retry", p.Root, id).Run() //nolint:gosec // the program under test
	}
	file := filepath.Join(p.Root, ".archivefs", "uploads", fmt.Sprintf("%s %s", id, p.Name))
	return xattr.Set(file, "user.archive.retry", []byte("true"))
}
