package fs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A file whose length was announced is archived once all of it was written, and one that ends in a hole is.
func TestLengthThatAProgramSets(t *testing.T) {
	const open = "import os, sys, mmap\nf = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
	python := func(script string) string {
		return "python3 -c '" + open + strings.ReplaceAll(script, "; ", "\n") + "\nos.close(f)' \"$f\""
	}
	for name, test := range map[string]struct {
		script string
		lacks  string // what a failed file lacks; empty if it is archived
	}{
		"set and half written":        {python(`os.ftruncate(f, 8000); os.write(f, b"a;b" * 1000)`), "announced 8000 bytes, the last 5000 were never written"},
		"allocated and half written":  {python(`os.posix_fallocate(f, 0, 8000); os.write(f, b"a;b" * 1000)`), "announced 8000 bytes, the last 5000 were never written"},
		"allocated with fallocate(1)": {`fallocate -l 9000 "$f"`, "announced 9000 bytes, the last 9000 were never written"},
		"set with truncate(1)":        {`truncate -s 9000 "$f"`, "announced 9000 bytes, the last 9000 were never written"},
		"set and written":             {python(`os.ftruncate(f, 8000); os.write(f, b"a;b;" * 2000)`), ""},
		"set and written as zeros":    {python(`os.ftruncate(f, 8000); os.write(f, bytes(8000))`), ""},
		"set and written from behind": {python(`os.ftruncate(f, 8000); os.pwrite(f, b"b" * 4000, 4000); os.pwrite(f, b"a" * 4000, 0)`), ""},
		"set and mapped":              {python(`os.ftruncate(f, 8000); m = mmap.mmap(f, 8000); m[:] = b"m" * 8000; m.close()`), ""},
		"set, and cut to what it has": {python(`os.ftruncate(f, 8000); os.write(f, b"a"); os.ftruncate(f, 1)`), ""},
		"cp, ends in a hole":          {`echo head > "$HOME/h"; truncate -s 70000 "$HOME/h"; cp "$HOME/h" "$f"`, ""},
		"cp --sparse=always":          {`head -c 5000 /dev/urandom > "$HOME/h"; head -c 200000 /dev/zero >> "$HOME/h"; cp --sparse=always "$HOME/h" "$f"`, ""},
		"rsync --sparse":              {`echo head > "$HOME/h"; truncate -s 70000 "$HOME/h"; rsync --sparse "$HOME/h" "$f"`, ""},
		"rsync --preallocate":         {`head -c 70000 /dev/urandom > "$HOME/h"; rsync --preallocate "$HOME/h" "$f"`, ""},
		"rsync --inplace":             {`head -c 70000 /dev/urandom > "$HOME/h"; rsync --inplace --preallocate "$HOME/h" "$f"`, ""},
		"tar --sparse":                {`echo head > "$HOME/d.bin"; truncate -s 70000 "$HOME/d.bin"; tar -C "$HOME" -cSf "$HOME/t" d.bin; tar -C "$1/Muster GmbH/Briefe" -xf "$HOME/t"`, ""},
		"dd conv=sparse":              {`(echo head; head -c 70000 /dev/zero) > "$HOME/h"; dd if="$HOME/h" of="$f" conv=sparse bs=512 status=none`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			m := o.mount(t, nil)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", `f="$1/Muster GmbH/Briefe/d.bin"; `+test.script, "sh", m.dir)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if (err != nil) != (test.lacks != "") {
				t.Fatalf("%v\n%s", err, out)
			}
			docs, failed := o.documents(t, o.letters), m.uploads()
			switch {
			case test.lacks == "" && (len(docs) != 1 || len(failed) != 0):
				t.Errorf("archived: %+v; failed: %+v", docs, failed)
			case test.lacks != "" && (len(docs) != 0 || len(failed) != 1 || failed[0].Error != test.lacks):
				t.Errorf("archived: %+v; failed: %+v, want one that %s", docs, failed, test.lacks)
			}
		})
	}
}

// What rsync had got to when it was stopped stays in the folder as failed, and a second one completes it.
func TestRsyncStoppedAndRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		options string
		signal  unix.Signal
		aside   bool // what there is stays in a directory of its own
	}{
		"Ctrl-C of -P":             {"-aP", unix.SIGINT, false},
		"SIGTERM of --partial":     {"-a --partial", unix.SIGTERM, false},
		"SIGKILL of -P":            {"-aP", unix.SIGKILL, false},
		"Ctrl-C of --inplace":      {"-a --inplace", unix.SIGINT, false},
		"SIGKILL of --inplace":     {"-a --inplace", unix.SIGKILL, false},
		"Ctrl-C of --append":       {"-a --append-verify", unix.SIGINT, false},
		"Ctrl-C of --partial-dir":  {"-a --partial-dir=half", unix.SIGINT, true},
		"SIGKILL of --partial-dir": {"-a --partial-dir=half", unix.SIGKILL, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			m := o.mount(t, nil)
			from, to := t.TempDir(), m.path("Muster GmbH", "Briefe")
			must(t, os.WriteFile(filepath.Join(from, "big.bin"), slices.Repeat([]byte("rsync"), 1<<20), 0o600))
			rsync := func(more ...string) *exec.Cmd {
				return exec.CommandContext(t.Context(), "rsync", append(append(strings.Fields(test.options), more...), from+"/", to+"/")...)
			}
			first := rsync("--bwlimit=500", "-q")
			must(t, first.Start())
			heals(t, "some of it is there", func() bool { return m.fs.Status().Uploads.Bytes > 64<<10 })
			must(t, first.Process.Signal(test.signal))
			if first.Wait() == nil {
				t.Error("rsync was not stopped")
			}
			heals(t, "what there is has failed", func() bool {
				failed := m.uploads()
				return len(failed) == 1 && failed[0].State == "failed" && strings.HasPrefix(failed[0].Error, "rsync was stopped")
			})
			wantArchived(t, o, o.letters)
			if test.aside {
				wantNames(t, to, "half")
				return
			}
			wantNames(t, to, "big.bin")
			if out, err := rsync().CombinedOutput(); err != nil {
				t.Fatalf("the second: %v\n%s", err, out)
			}
			wantArchived(t, o, o.letters, "big.bin="+strings.Repeat("rsync", 1<<20))
			if failed := m.uploads(); len(failed) != 0 {
				t.Errorf("still there: %+v", failed)
			}
		})
	}
}

// Files of 1970 are archived, by whatever program, also by an rsync that has all of them.
func TestFileOfTheTimeZero(t *testing.T) {
	for name, script := range map[string]string{
		"cp":    `cp -p "$HOME/a.csv" "$f"`,
		"touch": `cp "$HOME/a.csv" "$f"; touch -d @0 "$f"`,
		"rsync": `rsync -a "$HOME/a.csv" "$f"`,
		"tar":   `tar -C "$HOME" -cf - a.csv | tar -C "$(dirname "$f")" -xf -`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			m := o.mount(t, nil)
			sh(t, m, `f="$1/Muster GmbH/Briefe/a.csv"; HOME="$(mktemp -d)"; printf 'a;b' > "$HOME/a.csv"; touch -d @0 "$HOME/a.csv"; `+script)
			wantArchived(t, o, o.letters, "a.csv=a;b")
		})
	}
}

// The mark of rsync is known where rsync itself is not, because it runs in another PID namespace.
func TestTemporaryFileOfRsyncMarkedAndRenamed(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	sh(t, m, `cd "$1/Muster GmbH/Briefe"; printf 'a;b' > .a.csv.Xy7kQ2; touch -d @0 .a.csv.Xy7kQ2; mv .a.csv.Xy7kQ2 a.csv`)
	wantArchived(t, o, o.letters)
	wantNames(t, m.path("Muster GmbH", "Briefe"), "a.csv")
	if u := m.upload("Muster GmbH/Briefe/a.csv"); u.State != "failed" {
		t.Errorf("it is %+v", u)
	}
}
