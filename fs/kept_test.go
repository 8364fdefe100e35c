package fs

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/testing/spooltest"
)

// keptIn opens a spool that no mount uses.
func keptIn(t *testing.T, dir string) Kept {
	t.Helper()
	s, err := spool.Open(spool.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may be closed already
	return Kept{s}
}

// puts makes a file in a spool, as after a close.
func (k Kept) puts(t *testing.T, r spool.Record, text string) *spool.Upload {
	t.Helper()
	up, err := k.Spool.Create(r)
	if err == nil {
		_, err = up.WriteAt([]byte(text), 0)
	}
	if err == nil {
		err = up.Commit(true, func(*spool.Record) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	return up
}

// marshal returns a record as it stands on disk.
func marshal(t *testing.T, r spool.Record) []byte {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cutOff leaves an upload as if the process had ended while sending it.
func cutOff(t *testing.T, dir string, up *spool.Upload) {
	t.Helper()
	r := up.Record()
	r.State, r.SentID, r.SentName, r.SentSHA256 = spool.Delivering, "archivefs-1", r.Name, r.SHA256
	spooltest.Rewrite(t, dir, r.ID, func([]byte) []byte { return marshal(t, r) })
}

// An upload that was in flight can be reached without a mount, with the warning that the archive
// may have it.
func TestKeptUploadInFlight(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	k := keptIn(t, dir)
	up := k.puts(t, spool.Record{Path: "My Archive", Name: "a/b.txt"}, "Inhalt")
	if err := k.Spool.Close(); err != nil {
		t.Fatal(err)
	}
	cutOff(t, dir, up)
	k = keptIn(t, dir)
	list := k.List()
	if len(list) != 1 || list[0].State != "pending" || list[0].Error != "it was being sent, and the archive may have it already" {
		t.Fatalf("%+v", list)
	}
	f, name, modified, err := k.Open(up.ID())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(f); string(got) != "Inhalt" || name != up.ID()+" a_b.txt" || !modified.Equal(up.Record().Changed) {
		t.Errorf("%q, %s, %v, %v", got, name, modified, err)
	}
	if err := errors.Join(f.Close(), k.Discard(up.ID())); err != nil {
		t.Error(err)
	}
	if len(k.List()) > 0 {
		t.Error("what was discarded is there")
	}
	if err := k.Discard(up.ID()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("discarded twice: %v", err)
	}
}

// A file with a temporary name may be somebody's work, for instance of an editor whose document was
// refused. An empty one is not.
func TestKeptLocalFiles(t *testing.T) {
	k := keptIn(t, filepath.Join(t.TempDir(), "spool"))
	for _, text := range []string{"Inhalt", ""} {
		up, err := k.Spool.Create(spool.Record{Path: "My Archive/.Trash-0/files", Local: []string{".Trash-0", "files"}, Name: "a.part"})
		if err == nil {
			_, err = up.WriteAt([]byte(text), 0)
		}
		if err := errors.Join(err, up.Keep("", func(*spool.Record) {})); err != nil {
			t.Fatal(err)
		}
	}
	list := k.List()
	if len(list) != 1 || list[0].State != StateLocal || list[0].Path != "My Archive/.Trash-0/files/a.part" || list[0].Size != 6 || list[0].Error != temporaryStays {
		t.Errorf("%+v", list)
	}
}

// A queued folder is removed when nothing waits in it.
func TestKeptFolder(t *testing.T) {
	k := keptIn(t, filepath.Join(t.TempDir(), "spool"))
	folder, err := k.Spool.CreateFolder(spool.Record{Path: "My Archive", Name: "Briefe"}, false)
	if err != nil {
		t.Fatal(err)
	}
	inside := k.puts(t, spool.Record{Path: "My Archive/Briefe", Name: "a.txt", Within: folder.ID()}, "Inhalt")
	beside := k.puts(t, spool.Record{Path: "My Archive", Name: "b.txt"}, "anderer Inhalt")
	if err := k.Discard(folder.ID()); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("a folder that holds something: %v", err)
	}
	if err := errors.Join(k.Discard(inside.ID()), k.Discard(folder.ID())); err != nil {
		t.Error(err)
	}
	if list := k.List(); len(list) != 1 || list[0].ID != beside.ID() || list[0].Path != "My Archive/b.txt" {
		t.Errorf("%+v", list)
	}
}

// An upload of which only the bytes remain is reported as never sent.
func TestKeptWithoutARecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	k := keptIn(t, dir)
	up := k.puts(t, spool.Record{Path: "My Archive", Name: "b.txt"}, "Inhalt")
	if err := k.Spool.Close(); err != nil {
		t.Fatal(err)
	}
	spooltest.Rewrite(t, dir, up.ID(), func([]byte) []byte { return []byte("{") })
	k = keptIn(t, dir)
	if list := k.List(); len(list) != 1 || list[0].State != "failed" || list[0].Never == "" || list[0].Error == "" {
		t.Errorf("%+v", list)
	}
}
