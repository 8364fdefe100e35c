package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// shared is one mount that several users of the machine share. The service knows erika and max:
// erika is daemon on this machine and sees the mandators Einkauf and Personal, max is bin and sees
// Einkauf. Nobody else is let in, except root, whose mount it is.
type shared struct {
	t       *testing.T
	service *program
	*program
	admin                administrator
	data, url, dir, file string
	home                 string
	done                 []string // what did has wanted
	erika, max, stranger *person
}

// newShared mounts with options. The file of --map-users names erika and max.
func newShared(t *testing.T, options ...string) *shared {
	t.Helper()
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be other users")
	}
	s := &shared{t: t, home: isolate(t), dir: filepath.Join(t.TempDir(), "archive")}
	s.data, _ = keptArchive(t)
	s.admin = administrator{t, s.data}
	for _, name := range []string{"Einkauf", "Personal"} {
		s.admin.says(0, "added mandator", "mandators", "add", name)
	}
	for _, name := range []string{"erika", "max"} {
		typing(t, "p-"+name+"\n")
		s.admin.says(0, "added user", "users", "add", name)
		s.write(name+".password", "p-"+name)
		s.admin.says(0, "added inbox", "inboxes", "add", "Post "+name, "--user", name)
	}
	s.write("own.key", s.admin.says(0, "", "keys", "add", "the mount"))
	s.write("erika.key", s.admin.says(0, "", "keys", "add", "--mandator", "Einkauf", "--mandator", "Personal", "erika"))
	s.write("max.key", s.admin.says(0, "", "keys", "add", "--mandator", "Einkauf", "max"))
	s.file = s.write("people.toml", s.section("daemon", "erika")+s.section("bin", "max"))
	s.erika, s.max, s.stranger = s.person("daemon"), s.person("bin"), s.person("games")
	s.service = start(t, "serve", "--listen", "127.0.0.1:0", "--data", s.data)
	s.url = s.service.line("serving " + s.data + " at ")
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(s.dir); dir != "/"; dir = filepath.Dir(dir) {
		letThrough(t, dir)
	}
	s.mounts(options...)
	return s
}

// mounts begins the mount.
func (s *shared) mounts(options ...string) {
	s.t.Helper()
	s.program = startMount(s.t, s.dir, append([]string{
		"--base-url", s.url, "--api-key-file", filepath.Join(s.home, "own.key"), "--map-users", s.file, "--state-dir", filepath.Join(s.home, "state"),
	}, options...)...)
	s.line("mounted ")
}

// again starts the service again.
func (s *shared) again() {
	s.t.Helper()
	s.service = start(s.t, "serve", "--listen", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/api/v2"), "--data", s.data)
	s.service.line("serving ")
}

// person is a user of the machine who uses the mount.
func (s *shared) person(name string) *person {
	s.t.Helper()
	p := newPerson(s.t, name)
	p.dir = s.dir
	return p
}

// section is the section of a user of the machine, who is as at the service.
func (s *shared) section(local, as string) string {
	return fmt.Sprintf("[%s]\nuser = %q\npassword-file = %q\napi-key-file = %q\n", local, as, filepath.Join(s.home, as+".password"), filepath.Join(s.home, as+".key"))
}

// write writes a file that only root can read, and returns its path.
func (s *shared) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// refused fails the test unless a script of the user fails and says why.
func (p *person) refused(script, why string) {
	p.t.Helper()
	if got, err := p.sh(script); err == nil || !strings.Contains(got, why) {
		p.t.Errorf("%s: got %q, %v; want it to say %q", script, got, err, why)
	}
}

// trail is who did what, as the archive has it: "erika create-folder", and for uploads "erika eins.txt".
func (s *shared) trail() (entries []string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.data, "archive.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it was only read
	rows, err := db.QueryContext(s.t.Context(), "SELECT who || ' ' || action FROM audit UNION ALL SELECT creator || ' ' || name FROM document")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // as above
	for rows.Next() {
		var entry string
		if err := rows.Scan(&entry); err != nil {
			s.t.Fatal(err)
		}
		if entry != "I scan" && !strings.HasPrefix(entry, " ") { // what was there before
			entries = append(entries, entry)
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(entries)
	return entries
}

// did waits until the archive has these entries besides those that were wanted before, and no others.
func (s *shared) did(entries ...string) {
	s.t.Helper()
	s.done = append(s.done, entries...)
	slices.Sort(s.done)
	var got []string
	ok := func() bool {
		got = s.trail()
		return slices.Equal(got, s.done)
	}
	defer func() {
		if !ok() {
			s.t.Errorf("it has %q; want %q", got, s.done)
		}
	}()
	heals(s.t, "the archive has what was done", ok)
}

// The audit trail has the name of the person who caused a change, whichever way it takes.
func TestPeopleInTheAuditTrail(t *testing.T) {
	for _, options := range [][]string{{"--writes", "sync"}, {"--writes", "async"}, {"--grace", "100ms"}} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			s := newShared(t, options...)
			for _, step := range []struct {
				by     *person
				script string
				want   string
			}{
				{s.erika, `mkdir "$1/Einkauf/Rechnungen"`, "erika create-folder"},
				{s.max, `mkdir "$1/Einkauf/Briefe"`, "max create-folder"},
				{s.erika, `echo eins >"$1/Einkauf/Rechnungen/eins.txt"`, "erika eins.txt"},
				{s.max, `echo zwei >"$1/Einkauf/Rechnungen/zwei.txt"`, "max zwei.txt"},
			} {
				step.by.wantSh(step.script, "")
				s.did(step.want)
			}
			s.max.wantSh(`echo drei >"$1/inboxes/Post max/drei.txt"`, "")
			heals(t, "the file is in the inbox", func() bool {
				id, err := s.max.sh(`getfattr --only-values -n user.archive.id "$1/inboxes/Post max/drei.txt"`)
				return err == nil && id != ""
			})
			s.max.wantSh(`mv "$1/inboxes/Post max/drei.txt" "$1/Einkauf/Briefe/"`, "")
			s.did("max drei.txt", "max archive")
			s.erika.wantSh(`setfattr -n user.archive.keywords -v '["bezahlt"]' "$1/Einkauf/Briefe/drei.txt"`, "")
			s.did("erika keywords")
			s.erika.wantSh(`ls "$1/Einkauf/Rechnungen"; cat "$1/Einkauf/Rechnungen/"*`, "eins.txt\nzwei.txt\neins\nzwei")
			s.stop()
		})
	}
}

// What somebody may not see is neither listed nor read, also after somebody else had it, and also by a
// path that is known.
func TestPeopleSeeTheirPart(t *testing.T) {
	s := newShared(t)
	s.erika.wantSh(`cd "$1" && mkdir Personal/Akten && echo geheim >Personal/Akten/gehalt.txt && echo offen >Einkauf/preise.txt`, "")
	s.erika.wantSh(`ls "$1" "$1/inboxes"; cat "$1/Personal/Akten/gehalt.txt"`, strings.Join([]string{
		s.dir + ":", "Einkauf", "Personal", "inboxes", "", s.dir + "/inboxes:", "Post erika", "geheim",
	}, "\n"))
	id, err := s.erika.sh(`getfattr --only-values -n user.archive.id "$1/Personal/Akten/gehalt.txt"`)
	if err != nil {
		t.Fatal(id, err)
	}
	s.max.wantSh(`ls "$1" "$1/inboxes" "$1/Einkauf"; cat "$1/Einkauf/preise.txt"`, strings.Join([]string{
		s.dir + ":", "Einkauf", "inboxes", "", s.dir + "/Einkauf:", "preise.txt", "", s.dir + "/inboxes:", "Post max", "offen",
	}, "\n"))
	for _, script := range []string{
		`cat "$1/Personal/Akten/gehalt.txt"`, `ls "$1/Personal"`, `stat "$1/Personal/Akten"`,
		`getfattr -d "$1/Personal/Akten/gehalt.txt"`, `truncate -s 1 "$1/Personal/Akten/gehalt.txt"`, `tee "$1/Personal/neu.txt" </dev/null`, `ls "$1/inboxes/Post erika"`,
		`cat "$1/.archivefs/documents/` + id + `/original"`, `cat "$1/.archivefs/by-id/` + id + `"`,
		`mv "$1/Personal/Akten/gehalt.txt" "$1/Einkauf/"`, `ln -s x "$1/Personal/y"`,
	} {
		s.max.refused(script, "No such file or directory")
	}
	s.max.refused(`mkdir "$1/Personal"`, "File exists")
	s.max.refused(`ls "$1/.archivefs/uploads"`, "Permission denied")
	s.stranger.refused(`ls "$1"`, "Permission denied")
	s.stranger.refused(`cat "$1/Einkauf/preise.txt"`, "Permission denied")
	s.says("the user 5 of this machine is not in the file of --map-users")
	if got, err := s.max.sh(`ls "$1/.archivefs/search/gehalt"; ls "$1/.archivefs/search/preise"`); err != nil || got != "preise.txt" {
		t.Errorf("max finds %q, %v", got, err)
	}
	if got, err := s.erika.sh(`ls "$1/.archivefs/search/gehalt"`); err != nil || got != "gehalt.txt" {
		t.Errorf("erika finds %q, %v", got, err)
	}
	// A directory that somebody else has opened is no way in.
	passed := exec.CommandContext(t.Context(), "sh", "-c", `cat gehalt.txt; cat ./gehalt.txt; ls`)
	s.max.as(passed)
	passed.Dir = filepath.Join(s.dir, "Personal", "Akten")
	if out, err := passed.CombinedOutput(); err == nil || strings.Contains(string(out), "geheim\n") {
		t.Errorf("from a directory that root has entered: %q, %v", out, err)
	}
	s.stop()
}

// What a person has queued is sent in their name by a later mount, and waits while the service refuses
// their credentials, which keeps nobody else waiting.
func TestPeopleInTheQueue(t *testing.T) {
	s := newShared(t, "--writes", "async", "--retry-for", "0s", "--drain", "0s")
	s.erika.wantSh(`ls "$1/Einkauf"`, "")
	s.max.wantSh(`ls "$1/Einkauf"`, "")
	s.service.stop()
	s.erika.wantSh(`echo eins >"$1/Einkauf/eins.txt"`, "")
	s.max.wantSh(`for i in 1 2 3 4 5 6 7 8; do echo $i >"$1/Einkauf/max$i.txt"; done`, "")
	s.stop()
	s.write("max.password", "p-wrong")
	s.again()
	s.mounts("--writes", "async", "--retry-for", "0s", "--drain", "0s")
	s.did("erika eins.txt")
	s.erika.wantSh(`echo zwei >"$1/Einkauf/zwei.txt"`, "")
	s.did("erika zwei.txt")
	s.max.refused(`ls "$1/Einkauf"`, "Permission denied")
	s.says("credentials refused for the user bin of this machine")
	var status peopleStatus
	heals(t, "each upload was tried, and none is being sent again", func() bool {
		status = s.status()
		for _, up := range status.Uploads.List {
			if up.Error == "" {
				return false
			}
		}
		return true
	})
	if status.Health != "ok" || status.People.Mapped != 2 || !slices.Equal(status.People.Refused, []string{"bin"}) || len(status.Uploads.List) != 8 {
		t.Errorf("%+v", status)
	}
	for _, up := range status.Uploads.List {
		if up.State != "pending" || !strings.Contains(up.Error, "the user bin of this machine") {
			t.Errorf("%+v", up)
		}
	}
	if _, stdout, _ := call(t, "status", s.dir); !strings.Contains(stdout, "bin") {
		t.Errorf("status does not name who is refused: %s", stdout)
	}
	// A file that is broken changes nothing.
	s.write("people.toml", "[daemon]\nusr = 'x'\n")
	s.signal(syscall.SIGHUP)
	s.says("people.toml:2: there is no key ")
	s.says("the users of the mount and their credentials stay as they are")
	s.erika.wantSh(`echo drei >"$1/Einkauf/drei.txt"`, "")
	s.did("erika drei.txt")
	// A new password lets what waits go on, in the same name.
	s.write("people.toml", s.section("daemon", "erika")+s.section("bin", "max"))
	s.write("max.password", "p-max")
	s.signal(syscall.SIGHUP)
	var all []string
	for i := 1; i <= 8; i++ {
		all = append(all, fmt.Sprintf("max max%d.txt", i))
	}
	s.did(all...)
	s.max.wantSh(`ls "$1/Einkauf" | wc -l`, "11")
	s.stop()
}

// What somebody has queued who is in the file no more waits, and says for whom.
func TestPeopleWhoAreInTheFileNoMore(t *testing.T) {
	s := newShared(t, "--writes", "async", "--retry-for", "0s", "--drain", "0s")
	s.max.wantSh(`ls "$1/Einkauf"`, "")
	s.service.stop()
	s.max.wantSh(`mkdir "$1/Einkauf/Neu" && echo eins >"$1/Einkauf/Neu/eins.txt"`, "")
	s.stop()
	s.again()
	s.write("people.toml", s.section("daemon", "erika"))
	s.mounts("--writes", "async", "--retry-for", "0s", "--drain", "0s")
	heals(t, "the upload says why it waits", func() bool {
		list := s.status().Uploads.List
		return len(list) == 2 && strings.Contains(list[0].Error, "for the user 2 of this machine")
	})
	s.max.refused(`ls "$1"`, "Permission denied")
	s.erika.wantSh(`ls "$1/Einkauf/Neu"; echo zwei >"$1/Einkauf/zwei.txt"`, "eins.txt")
	s.did("erika zwei.txt")
	s.write("people.toml", s.section("daemon", "erika")+s.section("bin", "max"))
	s.signal(syscall.SIGHUP)
	s.did("max create-folder", "max eins.txt")
	s.max.wantSh(`cat "$1/Einkauf/Neu/eins.txt"`, "eins")
	s.stop()
}

// Nothing is mounted while something is wrong in the file.
func TestMountRefusesAWrongFileOfPeople(t *testing.T) {
	home := isolate(t)
	file := filepath.Join(home, "people.toml")
	mount := func(more ...string) []string {
		return append([]string{"mount", "--base-url", "http://127.0.0.1:1", "--api-key", "k", "--map-users", file}, append(more, t.TempDir())...)
	}
	wantCall(t, 2, "--map-users: "+file+": no such file or directory", mount()...)
	if err := os.WriteFile(file, []byte("[1]\nuser = 'x'\n[nobody-of-that-name]\nmount = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCall(t, 2, file+`:2: user: the password is missing: give password-file or password-command; `+file+`:3: there is no user "nobody-of-that-name" on this machine`, mount()...)
	if err := os.WriteFile(file, []byte("[1]\nuser = 'x'\npassword-file = '/nowhere/pw'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCall(t, 2, file+`:3: password-file: open /nowhere/pw: no such file or directory`, mount()...)
	background := start(t, mount("--daemon")...)
	background.wantExit(2)
	background.says(file + ":3: password-file: open /nowhere/pw: no such file or directory")
	wantCall(t, 2, "--map-users needs --base-url, as the embedded service has no users", "mount", "--map-users", file, t.TempDir())
	all := diagnose(t, "--base-url", refusing(t), "--api-key", "k-geheim", "--map-users", file)
	wantFinding(t, all, "users", doctor.Failure, file+":3: password-file: open /nowhere/pw", "nothing is mounted before")
	password := filepath.Join(home, "pw")
	if err := os.WriteFile(password, []byte("p-geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[1]\nuser = 'x'\npassword-file = '"+password+"'\n['*']\nmount = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all = diagnose(t, "--base-url", refusing(t), "--api-key", "k-geheim", "--map-users", file)
	wantFinding(t, all, "users", doctor.Failure, "the service refuses the credentials of 1 in "+file, "SIGHUP")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"folders":[]}`) }))
	t.Cleanup(web.Close)
	all = diagnose(t, "--base-url", web.URL, "--api-key", "k-geheim", "--map-users", file)
	wantFinding(t, all, "users", doctor.OK, file+" names one user of this machine, and what is for all others", "")
}

// peopleStatus is what --json tells of the people.
type peopleStatus struct {
	Health string
	People struct {
		Mapped  int
		Refused []string
	}
	Uploads struct {
		List []struct{ State, Error string }
	}
}

func (s *shared) status() (status peopleStatus) {
	s.t.Helper()
	_, stdout, stderr := call(s.t, "status", "--json", s.dir)
	if err := json.Unmarshal([]byte(stdout), &status); err != nil {
		s.t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	return status
}

// What waits to be archived is told to the user of the mount alone, and others are told that.
func TestPeopleAreToldWhatIsNotForThem(t *testing.T) {
	s := newShared(t, "--writes", "async", "--retry-for", "0s", "--drain", "0s")
	s.max.wantSh(`echo null >"$1/Einkauf/null.txt"`, "")
	s.did("max null.txt")
	kept := s.max.start("keep", filepath.Join(s.dir, "Einkauf", "null.txt"))
	kept.wantExit(1)
	kept.says("only the user whose mount " + s.dir + " is sees when all is here")
	s.service.stop()
	s.max.wantSh(`echo eins >"$1/Einkauf/eins.txt"`, "")
	for _, args := range [][]string{
		{"uploads", "list"}, {"uploads", "list", "--json"}, {"uploads", "retry"}, {"uploads", "export"}, {"uploads", "show", "--no-browser"},
	} {
		p := s.max.start(append(args, s.dir)...)
		p.wantExit(1)
		p.says("only the user whose mount " + s.dir + " is sees what waits there")
	}
	status := s.max.start("status", s.dir)
	status.line("the rest  is known to the user whose mount it is")
	status.wantExit(0)
	if got := s.status(); len(got.Uploads.List) != 1 {
		t.Errorf("the user of the mount sees %+v", got)
	}
	s.stop()
}

// What waits to be archived is read by whoever sees its folder, and changed by nobody else than the one
// who made it.
func TestPeopleLeaveUploadsAlone(t *testing.T) {
	s := newShared(t, "--writes", "async", "--retry-for", "0s", "--drain", "0s")
	s.erika.wantSh(`ls "$1/Einkauf"; echo alt >"$1/Einkauf/alt.txt"`, "")
	s.did("erika alt.txt")
	s.max.wantSh(`cat "$1/Einkauf/alt.txt"`, "alt")
	s.service.stop()
	s.erika.wantSh(`mkdir "$1/Einkauf/Neu"; echo eins >"$1/Einkauf/eins.txt"`, "")
	s.max.wantSh(`cat "$1/Einkauf/eins.txt"`, "eins")
	for _, script := range []string{
		`rm "$1/Einkauf/eins.txt"`, `echo x >"$1/Einkauf/eins.txt"`, `truncate -s 0 "$1/Einkauf/eins.txt"`, `mv "$1/Einkauf/eins.txt" "$1/Einkauf/zwei.txt"`,
		`rmdir "$1/Einkauf/Neu"`, `setfattr -n user.archive.upload.keywords -v '["x"]' "$1/Einkauf"`,
	} {
		s.max.refused(script, "ermission denied")
	}
	s.erika.wantSh(`echo mehr >"$1/Einkauf/eins.txt"; cat "$1/Einkauf/eins.txt"; mv "$1/Einkauf/eins.txt" "$1/Einkauf/Neu/zwei.txt"`, "mehr")
	s.stop()
}
