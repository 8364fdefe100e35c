package fs_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/thumbnail"
)

// scan is a JPEG that is dark at its left.
func scan(t *testing.T) string {
	t.Helper()
	page := image.NewGray(image.Rect(0, 0, 700, 1000))
	for i := range page.Pix {
		page.Pix[i] = 255
		if i%700 < 350 {
			page.Pix[i] = 20
		}
	}
	var b bytes.Buffer
	must(t, jpeg.Encode(&b, page, nil))
	return b.String()
}

// browse lists a directory as a program of that name does.
func browse(t *testing.T, program, dir string) {
	t.Helper()
	ls := get(exec.LookPath("ls"))(t)
	path := filepath.Join(t.TempDir(), program)
	must(t, os.WriteFile(path, get(os.ReadFile(ls))(t), 0o700))
	if out, err := exec.CommandContext(t.Context(), path, dir).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// When a file manager lists a folder, its documents get thumbnails from the service's previews, and none
// is downloaded.
func TestThumbnailsFromPreviews(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cache := get(thumbnail.Open("test"))(t)
	o := newOffice(t, nil)
	o.put(t, o.inbox, "Scan #1 (Größe).jpg", scan(t))
	o.put(t, o.bills, "Scan 2.jpg", scan(t))
	m := o.mount(t, func(opts *fs.Options) { opts.Thumbnails = fs.ThumbnailsPreview })
	has := func(path string) bool {
		return cache.Has(thumbnail.URI(path), get(os.Stat(path))(t).ModTime())
	}
	inbox, folder := m.path("inboxes", "Administrator"), m.path("Muster GmbH", "Rechnungen")
	browse(t, "ls", inbox)
	browse(t, "nautilus", folder)
	heals(t, "the folder's document has a thumbnail", func() bool { return has(filepath.Join(folder, "Scan 2.jpg")) })
	if first := filepath.Join(inbox, "Scan #1 (Größe).jpg"); has(first) {
		t.Error("ls shows nobody a picture")
	} else {
		browse(t, "thunar", inbox)
		heals(t, "the inbox's document has a thumbnail", func() bool { return has(first) })
	}
	if n := len(o.asked("GET", "/preview")); n != 2 {
		t.Errorf("%d previews were asked for", n)
	}
	if n := o.fetched(); n != 0 {
		t.Errorf("%d documents were downloaded", n)
	}
	browse(t, "thunar", inbox)
	m.unmount() // waits for its work
	if n := len(o.asked("GET", "/preview")); n != 2 {
		t.Errorf("on the second visit %d previews were asked for", n-2)
	}
	f := get(os.Open(get(filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "thumbnails", "large", "*.png")))(t)[0]))(t)
	defer f.Close() //nolint:errcheck // read only
	picture := get(png.Decode(f))(t)
	size := picture.Bounds().Size()
	dark, light := color.GrayModel.Convert(picture.At(size.X/4, size.Y/2)), color.GrayModel.Convert(picture.At(3*size.X/4, size.Y/2))
	if size.Y != thumbnail.Largest || dark.(color.Gray).Y > 60 || light.(color.Gray).Y < 200 {
		t.Errorf("it is no picture of the page: %v, %v and %v", size, dark, light)
	}
}

// A thumbnailer that asks too early is refused when the thumbnails of the folder are there.
func TestThumbnailerWaitsForPreviews(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cache := get(thumbnail.Open("test"))(t)
	o := newOffice(t, nil)
	for i := range 8 {
		o.put(t, o.bills, fmt.Sprintf("Scan %d.jpg", i), scan(t))
	}
	m := o.mount(t, func(opts *fs.Options) { opts.Thumbnails = fs.ThumbnailsPreview })
	folder := m.path("Muster GmbH", "Rechnungen")
	browse(t, "dolphin", folder)
	tumbler := filepath.Join(t.TempDir(), "tumblerd")
	must(t, os.WriteFile(tumbler, get(os.ReadFile(get(exec.LookPath("cat"))(t)))(t), 0o700))
	if out, err := exec.CommandContext(t.Context(), tumbler, filepath.Join(folder, "Scan 0.jpg")).CombinedOutput(); err == nil {
		t.Errorf("it read %q", out)
	}
	for i := range 8 {
		path := filepath.Join(folder, fmt.Sprintf("Scan %d.jpg", i))
		if !cache.Has(thumbnail.URI(path), get(os.Stat(path))(t).ModTime()) {
			t.Errorf("%s has no thumbnail yet", path)
		}
	}
}

// A service of only the eight operations has no previews. Two answers tell that (404 may be about a page).
func TestNoThumbnailsWithoutPreviews(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	o := newOffice(t, func(opts *server.Options) { opts.OnlyEight = true })
	for i := range 30 {
		o.put(t, o.bills, fmt.Sprintf("Scan %d.jpg", i), scan(t))
	}
	m := o.mount(t, func(opts *fs.Options) { opts.Thumbnails = fs.ThumbnailsPreview })
	asked := func() int { return len(o.asked("GET", "/preview")) }
	browse(t, "thunar", m.path("Muster GmbH", "Rechnungen"))
	heals(t, "the service was asked", func() bool { return asked() >= 2 })
	browse(t, "thunar", m.path("Muster GmbH", "Rechnungen"))
	m.unmount()
	if n := asked(); n > 8 {
		t.Errorf("%d previews were asked for", n)
	}
	if all, err := os.ReadDir(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "thumbnails")); !os.IsNotExist(err) {
		t.Errorf("the cache has %v, %v", all, err)
	}
}
