package main

import (
	"bytes"
	"io"
	"reflect"
	"runtime"
	"testing"

	"github.com/archivefs/archivefs/internal/sample"
)

// TestPackedArchiveIsWhatIsDrawn compares the contents only if this release of Go drew them: another one may compress
// differently.
func TestPackedArchiveIsWhatIsDrawn(t *testing.T) {
	drawn, draw := newPlan().archive()
	packed, z, err := sample.Open()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(packed, drawn) || len(z.File) != 1+len(draw) {
		t.Fatal("internal/sample/sample.zip is another archive: go generate ./internal/sample")
	}
	if z.Comment != runtime.Version() {
		t.Logf("drawn by %s", z.Comment)
		return
	}
	for i, f := range z.File[1:] {
		var want bytes.Buffer
		if err := draw[i](&want); err != nil {
			t.Fatal(err)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("content %s is another one (%v): go generate ./internal/sample", f.Name, err)
		}
	}
}
