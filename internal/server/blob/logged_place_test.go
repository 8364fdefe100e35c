package blob

import (
	"runtime"
	"testing"
)

// A content that is on its way to its place is no removed one.
func TestCheckpointAwaitsPlaces(t *testing.T) {
	f, err := OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.placing.RLock()
	ended := make(chan error, 1)
	go func() { ended <- f.checkpoint(nil) }()
	for f.placing.TryRLock() { // until it waits
		f.placing.RUnlock()
		select {
		case err := <-ended:
			t.Fatalf("the checkpoint has ended before the content was in place: %v", err)
		default:
			runtime.Gosched()
		}
	}
	f.placing.RUnlock()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
