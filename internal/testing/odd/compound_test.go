package odd_test

import (
	"bytes"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/richardlehane/mscfb"

	"github.com/archivefs/archivefs/internal/testing/odd"
)

// TestCompound reads what was made with a library.
func TestCompound(t *testing.T) {
	made := map[string][]byte{
		"empty": {}, "small": []byte("small"), "a/below": bytes.Repeat([]byte("x"), 64), "a/b/deep": bytes.Repeat([]byte("deep"), 1023),
		"large": bytes.Repeat([]byte("0123456789"), 500_000), "a/4096": bytes.Repeat([]byte("m"), 4096),
	}
	for _, c := range strings.Split("bcdefghijklmnopqrstuvwxyz", "") {
		made["many/"+c] = []byte(c)
	}
	file := odd.Compound(made)
	doc, err := mscfb.New(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for e, err := doc.Next(); err == nil; e, err = doc.Next() {
		if e.FileInfo().IsDir() {
			continue
		}
		content, err := io.ReadAll(e)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.Join(append(e.Path, e.Name), "/")] = content
	}
	if !maps.EqualFunc(made, found, bytes.Equal) {
		t.Errorf("found %d of %d streams", len(found), len(made))
	}
}
