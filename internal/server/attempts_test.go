package server_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/testing/odd"
)

// A client that requests very slow renderings does not make others wait for them.
func TestOneKeyDoesNotHoldUpThePreviewsOfAnother(t *testing.T) {
	needPoppler(t)
	draw, err := exec.LookPath("pdftoppm")
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ngrep -q '/Count 2' /dev/stdin || exec '%s' \"$@\"\nwhile :; do sleep 0.1; done\n", draw) // as if it drew
	if err := os.WriteFile(filepath.Join(programs, "pdftoppm"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	h := start(t)
	h.StopBackground() // it would read them, too
	o := furnish(t, h)
	in := []string{"target-folder-id", text(o.other)}
	bad, good := h.uploaded("bad.pdf", pdfSaying(t, "bad", "bad"), in...), h.uploaded("good.pdf", pdfSaying(t, "good"), in...)
	other := h.key(h.manage(""), server.NewKey{})
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	var answered atomic.Int32
	defer asking.Wait()
	defer cancel()
	for range 6 {
		asking.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+pageOf(bad, 1)+"/preview", nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("API-Key", testKey)
			if response, err := h.client.Do(request); err == nil {
				answered.Add(1)
				_ = response.Body.Close()
			}
		})
	}
	for h.Stats(ctx).Requests < 6 {
		time.Sleep(time.Millisecond) // until they are there
	}
	for _, path := range []string{"/preview?bbox-width=50", "/ocr-result"} {
		if a := h.get(pageOf(good, 1)+path, "API-Key", other); a.status != http.StatusOK {
			t.Errorf("%s of another document: %d %s", path, a.status, a.body)
		}
	}
	if n := answered.Load(); n != 0 {
		t.Errorf("another key was answered after %d of these that cannot be drawn", n)
	}
}

// A page that cannot be drawn, for whatever reason, is answered 404. It is not tried again for a while, except for
// a smaller picture.
func TestWhatCannotBeDrawnIsNotTriedAgain(t *testing.T) {
	programs := t.TempDir()
	ran := filepath.Join(programs, "ran")
	const script = `#!/bin/sh
printf x >>'%s'
case "$*" in
*'-f 1 '*) exit 1 ;;
*) echo no picture ;;
esac
`
	if err := os.WriteFile(filepath.Join(programs, "pdftoppm"), fmt.Appendf(nil, script, ran), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	h := start(t)
	o := furnish(t, h)
	id := h.uploaded("x.pdf", pdfSaying(t, "one", "two"), "target-folder-id", text(o.other))
	tries := 0
	for i, ask := range []struct {
		page  int64
		box   string
		again bool
	}{
		{1, "", true},
		{1, "", false},
		{2, "", true},
		{2, "", false},
		{1, "?bbox-width=100&bbox-height=100", true},
		{1, "?bbox-width=100&bbox-height=100", false},
		{1, "?bbox-width=100&bbox-height=200", false},
	} {
		wantProblem(t, h.get(pageOf(id, ask.page)+"/preview"+ask.box), http.StatusNotFound, "id")
		if ask.again {
			tries++
		}
		if written, err := os.ReadFile(ran); err != nil || len(written) != tries {
			t.Errorf("after %d requests it was tried %d times, want %d; %v", i+1, len(written), tries, err)
		}
	}
}

// A program that takes too long for a document is not asked again at the next look, which gets the cover page that was
// made instead; a while later it is.
func TestAPDFThatTakesTooLongIsNotTriedAgain(t *testing.T) {
	programs, usual := t.TempDir(), engine.Usual.Time
	ran := filepath.Join(programs, "ran")
	script := fmt.Appendf(nil, "#!/bin/sh\nprintf x >>'%s'\nexec sleep 1000\n", ran)
	if err := os.WriteFile(filepath.Join(programs, "heif-convert"), script, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	engine.Usual.Time = 300 * time.Millisecond
	defer func() { engine.Usual.Time = usual }()
	h := start(t)
	h.StopBackground() // it would look at it, too
	o := furnish(t, h)
	pictures := odd.Pictures()
	photo := pictures[slices.IndexFunc(pictures, func(p odd.Picture) bool { return p.Needs == "heif-convert" })]
	id := h.uploaded("photo.heic", string(photo.Content), "target-folder-id", text(o.other))
	first := h.get("/document/" + text(id) + "/pdf")
	again := h.get("/document/" + text(id) + "/pdf")
	if first.status != http.StatusOK || first.body != again.body {
		t.Errorf("%d and %d, of %d and %d bytes", first.status, again.status, len(first.body), len(again.body))
	}
	if written, err := os.ReadFile(ran); err != nil || len(written) != 1 {
		t.Errorf("it was tried %d times, %v", len(written), err)
	}
}
