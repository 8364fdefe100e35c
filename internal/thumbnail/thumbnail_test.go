package thumbnail

import (
	"crypto/md5"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func open(t *testing.T) (Cache, string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	c, err := Open("archivefs")
	if err != nil {
		t.Fatal(err)
	}
	return c, filepath.Join(dir, "thumbnails")
}

// The example of the standard, and names with which programs differ when they get it wrong.
func TestURI(t *testing.T) {
	for path, want := range map[string]string{
		"/home/jens/photos/me.png": "file:///home/jens/photos/me.png",
		"/a b/Größe (1).pdf":       "file:///a%20b/Gr%C3%B6%C3%9Fe%20(1).pdf",
		"/50%#?;[x]\xff":           "file:///50%25%23%3F%3B%5Bx%5D%FF",
	} {
		if got := URI(path); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
	sum := md5.Sum([]byte("file:///home/jens/photos/me.png"))
	if got := hex.EncodeToString(sum[:]); got != "c6ee772d9e49320e97ec29a7eb5b1697" {
		t.Errorf("the standard names it otherwise: %s", got)
	}
}

func TestPut(t *testing.T) {
	c, dir := open(t)
	uri, changed := URI("/mnt/Archive/Brief 1.pdf"), time.Unix(1_700_000_000, 999)
	if c.Has(uri, changed) {
		t.Fatal("nothing was put there")
	}
	page := image.NewRGBA(image.Rect(0, 0, 200, 400))
	for x := range 200 {
		page.Set(x, 399, color.Black)
	}
	if err := c.Put(uri, changed, page); err != nil {
		t.Fatal(err)
	}
	if !c.Has(uri, changed) || c.Has(uri, changed.Add(time.Second)) || c.Has(URI("/mnt/Archive/Brief 2.pdf"), changed) {
		t.Error("it is of this file, as it was changed then, alone")
	}
	for name, want := range map[string]image.Point{"normal": {64, 128}, "large": {128, 256}} {
		path := c.path(name, uri)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(f)
		if err != nil || got.Bounds().Size() != want {
			t.Errorf("%s: %v, %v, want %v", name, got.Bounds().Size(), err, want)
		}
		_ = f.Close()
		for path, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v: others could look at it", path, info.Mode(), err)
			}
		}
		if all, err := os.ReadDir(filepath.Join(dir, name)); err != nil || len(all) != 1 {
			t.Errorf("%s has %v, %v", name, all, err)
		}
	}
	small := image.NewRGBA(image.Rect(0, 0, 10, 1))
	if err := c.Put(uri, changed.Add(time.Hour), small); err != nil || !c.Has(uri, changed.Add(time.Hour)) {
		t.Errorf("a newer one: %v", err)
	}
}

// What another program left there is no thumbnail of the file.
func TestHasOfSomethingElse(t *testing.T) {
	c, _ := open(t)
	uri, changed := URI("/a.pdf"), time.Unix(1, 0)
	if err := c.Put(uri, changed, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	path := c.path("large", uri)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "no PNG": []byte("GIF89a..........."), "cut off": whole[:headEnd+10], "without texts": append(append([]byte{}, whole[:headEnd]...), whole[len(whole)-30:]...),
		"a chunk of 4 GiB": append(append([]byte{}, whole[:headEnd]...), "\xff\xff\xff\xfftEXt"...),
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.Has(uri, changed) {
			t.Errorf("%s counts as one", name)
		}
	}
}

func TestPutWhereNothingCanBeWritten(t *testing.T) {
	c, dir := open(t)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(URI("/a"), time.Unix(1, 0), image.NewGray(image.Rect(0, 0, 1, 1))); err == nil {
		t.Error("no error")
	}
}
