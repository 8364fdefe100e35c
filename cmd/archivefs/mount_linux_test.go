package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// Who cannot mount because fuse3 is missing is told so, as by the doctor.
func TestMountWithoutTheHelper(t *testing.T) {
	needMounting(t)
	isolate(t)
	p := newPerson(t, "daemon")
	program, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close() //nolint:errcheck // opened for reading
	hide := `for f in fusermount3 fusermount; do for d in /bin /usr/bin; do [ ! -e $d/$f ] || mount --bind /dev/null $d/$f; done; done
		exec setpriv --reuid=$1 --regid=$2 --clear-groups /proc/self/fd/3 mount "$3"`
	cmd := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", hide, "sh",
		strconv.Itoa(int(p.id.Uid)), strconv.Itoa(int(p.id.Gid)), p.dir)
	cmd.ExtraFiles, cmd.Dir = []*os.File{program}, "/"
	cmd.Env = append(cmd.Environ(), "HOME="+p.home, asProgram+"=1")
	said, err := cmd.CombinedOutput()
	want := "archivefs: mount at " + p.dir + ": the program fusermount3 is missing; install fuse3: apt install fuse3, or dnf install fuse3\n"
	if cmd.ProcessState.ExitCode() != 1 || !strings.HasSuffix(string(said), want) {
		t.Errorf("%v, %q; want %q", err, said, want)
	}
}

// The dates of a service, which have no zone, are right on a system without a list of zones, and where TZ has
// a rule; what is not a zone is said.
func TestTimeZonesOfSmallSystems(t *testing.T) {
	needMounting(t)
	isolate(t)
	service := hostile.New(hostile.Config{Credentials: hostile.Credentials{APIKey: "k"}})
	noon := time.Date(2024, 7, 15, 12, 0, 0, 0, time.UTC) // by the clock of the service
	service.AddDocument(service.AddMandator("Muster GmbH"), hostile.Document{Name: "a.txt", Content: []byte("a"), Created: noon, Archived: noon})
	url := service.Start(t)
	const wrong = "the environment has TZ=Europe/Berln, which is not a time zone"
	for name, tt := range map[string]struct {
		tz, option string
		hours      int // of the zone before UTC
		says       string
	}{
		"TZ":               {tz: "Europe/Berlin", hours: 2},
		"option":           {option: "Europe/Berlin", hours: 2},
		"rule in TZ":       {tz: "CET-1CEST,M3.5.0,M10.5.0/3", hours: 2},
		"wrong TZ":         {tz: "Europe/Berln", says: wrong},
		"option, wrong TZ": {tz: "Europe/Berln", option: "Europe/Berlin", hours: 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
			const script = `for d in /usr/share/zoneinfo /usr/share/lib/zoneinfo /etc/zoneinfo "$1"; do [ ! -d "$d" ] || mount -t tmpfs none "$d"; done
				"$0" mount --daemon --base-url "$2" --api-key k --state-dir "$3" --log-file "$4" --time-zone "$5" "$6" >&2 && stat -c %Y "$6/Muster GmbH/a.txt"
				"$0" unmount "$6" >&2`
			cmd := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", script, os.Args[0], filepath.Join(runtime.GOROOT(), "lib", "time"), url, filepath.Join(t.TempDir(), "state"), log, tt.option, dir) //nolint:staticcheck // the test runs where it was built
			cmd.Env = append(cmd.Environ(), asProgram+"=1", "TZ="+tt.tz)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			want := strconv.FormatInt(noon.Add(-time.Duration(tt.hours)*time.Hour).Unix(), 10) + "\n"
			if err != nil || string(out) != want {
				t.Errorf("%v: %q, want %q: %s", err, out, want, said.String())
			}
			logged, err := os.ReadFile(log)
			if err != nil || strings.Contains(string(logged), wrong) != (tt.says != "") {
				t.Errorf("%v, logged:\n%s", err, logged)
			}
		})
	}
	t.Setenv("TZ", "Europe/Berln")
	doctor := start(t, "doctor", "--base-url", url, "--api-key", "k")
	doctor.line("warning  time zone            " + wrong + ", so all times are those of UTC; set it for example to Europe/Berlin")
	doctor.wantExit(0)
	wantCall(t, 2, `--time-zone: "Europe/Berln" is not a time zone; write for example Europe/Berlin, or CET-1CEST,M3.5.0,M10.5.0/3`,
		"mount", "--base-url", url, "--time-zone", "Europe/Berln", t.TempDir())
}
