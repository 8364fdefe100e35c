package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// A service that is silent is named, and Ctrl-C ends the wait for it.
func TestKeepSaysThatTheServiceIsSilent(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, t.TempDir())
	mandator := filepath.Join(dir, "My Archive")
	if err := os.WriteFile(filepath.Join(mandator, "a.txt"), []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.stop()
	m = o.mount(dir, t.TempDir(), "--timeout", "1h") // which has no content yet
	if _, err := os.ReadDir(mandator); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, ends string }{
		{mandator, "fetches the rest in the background"},
		{filepath.Join(dir, "inboxes", "Inbox"), "interrupted while the mount waited for the service"},
	} {
		o.running.signal(syscall.SIGSTOP)
		keep := start(t, "keep", tt.path)
		keep.says("archivefs: waiting for the service, which does not answer; Ctrl-C ends the wait\n")
		keep.signal(syscall.SIGINT)
		keep.wantExit(1)
		if said := keep.said(); strings.Count(said, "does not answer") != 1 || !strings.Contains(said, tt.ends) {
			t.Errorf("%s: said %q", tt.path, said)
		}
		o.running.signal(syscall.SIGCONT)
	}
	keep := start(t, "keep", mandator)
	keep.line(mandator + ": 1 document is kept here, 9 B")
	keep.wantExit(0)
	m.stop()
}

// What is kept reads without the service, after a restart of the mount, too.
func TestKeep(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	bills := filepath.Join(dir, "My Archive", "Bills")
	m := o.mount(dir, t.TempDir()) // what is made by a mount is known to it
	if err := os.Mkdir(bills, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(bills, name), []byte("Rechnung "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	letters := filepath.Join(dir, "My Archive", "Letters")
	if err := os.Mkdir(letters, 0o700); err != nil {
		t.Fatal(err)
	}
	m.stop()

	m = o.mount(dir, state)
	if _, err := os.ReadDir(letters); err != nil { // so that it is known later
		t.Fatal(err)
	}
	for _, args := range [][]string{{bills, ": 2 documents are kept here, 28 B"}, {filepath.Join(bills, "a.txt"), ": 1 document is kept here, 14 B"}} {
		keep := start(t, "keep", args[0])
		keep.line(args[0] + args[1])
		if err := keep.wait(); err != nil {
			t.Errorf("%v: %s", err, keep.said())
		}
	}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"keep", dir}, "only documents, and mandators, folders and inboxes"},
		{[]string{"keep", "--detach", os.TempDir()}, "it is in no mounted archive"},
		{[]string{"keep", filepath.Join(bills, "c.txt")}, "no such file"},
		{[]string{"free", filepath.Join(bills, "b.txt")}, "it is kept with '" + bills + "'; free that"},
	} {
		p := start(t, tt.args...)
		if err := p.wait(); err == nil || !strings.Contains(p.said(), tt.says) {
			t.Errorf("%v: %v, %s", tt.args, err, p.said())
		}
	}
	m.stop()
	o.running.stop()

	m = o.mount(dir, state)
	for _, name := range []string{"a.txt", "b.txt"} {
		wantFile(t, filepath.Join(bills, name), "Rechnung "+name)
	}
	keep := start(t, "keep", letters)
	keep.line(letters + ": no document is there yet; those that come are kept")
	if err := keep.wait(); err != nil {
		t.Errorf("%v: %s", err, keep.said())
	}
	status := start(t, "status", dir)
	if text := status.line("kept "); !strings.Contains(text, "2 documents are kept here, 28 B") {
		t.Errorf("the status says %q", text)
	}
	status.line("               /My Archive/Bills: 2 documents are kept here, 28 B")
	status.line("               /My Archive/Bills/a.txt: 1 document is kept here, 14 B")
	if err := status.wait(); err != nil {
		t.Error(err)
	}
	free := start(t, "free", bills)
	if err := free.wait(); err != nil {
		t.Errorf("%v: %s", err, free.said())
	}
	m.stop()
}
