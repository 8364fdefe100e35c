package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/bustest"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// awaits waits for what comes from a channel.
func awaits[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(time.Minute):
		t.Fatalf("%s: not within a minute", what)
	}
	return got
}

// When the machine is about to sleep nobody waits for the service any more, which hangs, whatever they
// wait for. After that all goes on.
func TestSleepOfTheMachine(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	logind := bustest.StartLogind(t)
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", logind.Address)
	gate := hostile.NewGate()
	service := hostile.New(hostile.Config{Credentials: hostile.Credentials{APIKey: "k"}})
	mandator := service.AddMandator("Muster GmbH")
	folder := service.AddFolder(mandator, "Briefe")
	for _, name := range []string{"Post", "Akten", "Ablage"} {
		service.AddFolder(mandator, name)
	}
	inbox := service.AddInbox(1, "Erika")
	large := make([]byte, 4<<20)
	service.AddDocument(folder, hostile.Document{Name: "a.txt", Content: large})
	service.AddDocument(folder, hostile.Document{Name: "b.txt", Content: large})
	service.AddDocument(inbox, hostile.Document{Name: "in.txt", Content: []byte("in")})
	url := service.Start(t)
	t.Cleanup(gate.Open)
	dir := t.TempDir()
	m := startMount(t, dir, "--base-url", url, "--api-key", "k", "--state-dir", filepath.Join(t.TempDir(), "state"),
		"--retry-for", "1h", "--timeout", "1h", "--drain", "1s")
	m.line("mounted ")
	abortAtEnd(t, dir, m)
	lock := awaits(t, "the mount delays the sleep", logind.Delays)
	sh := func(script string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec </dev/null >/dev/null 2>&1; cd \"$1\" && "+script, "sh", filepath.Join(dir, "Muster GmbH"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	if err := sh("ls Briefe Akten Ablage ../inboxes/Erika && cat ../inboxes/Erika/in.txt && stat Briefe/a.txt").Wait(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []hostile.Fault{
		{Method: "GET", Path: "/document/{id}/pdf", Do: hostile.StallBody(200_000, gate)},
		{Method: "GET", Path: "/document/list", Do: hostile.StallBefore(gate)},
		{Method: "POST", Path: "/file-upload", Do: hostile.StallBefore(gate)},
		{Method: "POST", Path: "/folder/create", Do: hostile.StallBefore(gate)},
		{Method: "POST", Path: "/document/{id}/archive", Do: hostile.StallBefore(gate)},
	} {
		f.Times = hostile.Always
		service.Fault(f)
	}
	all := map[string]*exec.Cmd{}
	for _, script := range []string{
		"cat Briefe/a.txt", "tail -c 10 Briefe/b.txt", "ls Post", "cp ../inboxes/Erika/in.txt Briefe/new.txt", "mkdir Ablage/Neu", "mv ../inboxes/Erika/in.txt Akten",
	} {
		all[script] = sh(script)
		awaits(t, script+" waits for the service", gate.Arrived())
	}

	began := time.Now()
	logind.PrepareForSleep(true)
	type end struct {
		script string
		err    error
	}
	ends := make(chan end, len(all))
	for script, cmd := range all {
		go func() { ends <- end{script, cmd.Wait()} }()
	}
	for range all {
		e := awaits(t, "all ends that waits for the service", ends)
		t.Logf("%s: %v after %s", e.script, e.err, time.Since(began).Round(time.Millisecond))
		if e.err == nil {
			t.Errorf("%s succeeds although the service never answered", e.script)
		}
	}
	awaits(t, "the machine may sleep", lock.Released)
	t.Logf("the machine may sleep after %s", time.Since(began).Round(time.Millisecond))
	asleep := service.Count("", "")
	if sh("cat Briefe/a.txt").Wait() == nil {
		t.Error("a content that is not known can be read while the machine sleeps")
	}
	if sh("ls Briefe").Wait() != nil {
		t.Error("a known folder cannot be listed while the machine sleeps")
	}
	if asked := service.Count("", "") - asleep; asked != 0 {
		t.Errorf("%d requests while the machine sleeps", asked)
	}

	service.ClearFaults()
	gate.Open()
	logind.PrepareForSleep(false)
	heals(t, "the mount reads again", func() bool { return sh("cat Briefe/a.txt && ls Post").Wait() == nil })
	awaits(t, "the next sleep is delayed", logind.Delays)
	if _, status, err := mounted.Status(dir); err != nil || status.Health == "away" {
		t.Errorf("after the sleep: %+v, %v", status, err)
	}
	m.signal(os.Interrupt)
	m.wantExit(0)
}
