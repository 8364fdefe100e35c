package blob

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

// A content that is removed while it gets its file does not come back.
func TestRemoveAwaitsAFile(t *testing.T) {
	f, err := OpenFiles(t.TempDir())
	if err == nil {
		err = f.KeepLog(1<<20, logrus.New())
	}
	if err != nil {
		t.Fatal(err)
	}
	staged, err := f.Stage(t.Context(), strings.NewReader("text"))
	if err == nil {
		err = errors.Join(f.Publish(t.Context(), staged), staged.Discard())
	}
	if err != nil {
		t.Fatal(err)
	}
	f.placing.Lock()
	removed := make(chan error)
	go func() { removed <- f.Remove(t.Context(), staged.Digest()) }()
	select {
	case err := <-removed:
		t.Fatalf("it is removed while it gets its file: %v", err)
	default:
	}
	f.placing.Unlock()
	if err := errors.Join(<-removed, f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(f.path(staged.Digest())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has a file: %v", err)
	}
}
