package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// uploadsPage is the page of uploads show, in a browser.
type uploadsPage struct {
	t      *testing.T
	client *http.Client
	base   string // ends with a slash
}

// openPage opens the page at an address with its token.
func openPage(t *testing.T, address string) (p *uploadsPage, body string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	base, token, ok := strings.Cut(address, "?token=")
	if !ok || token == "" {
		t.Fatalf("%q is no address of a page", address)
	}
	p = &uploadsPage{t: t, client: &http.Client{Jar: jar}, base: base}
	t.Cleanup(p.client.CloseIdleConnections)
	return p, p.do(http.MethodGet, "?token="+token, "")
}

// do makes a request as a browser does, and returns what it shows then.
func (p *uploadsPage) do(method, path, form string) (body string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(form))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Accept-Language", "de")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was read
	if err != nil || answer.StatusCode != http.StatusOK {
		p.t.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, text, err)
	}
	return string(text)
}

// failedIDs are the uploads of the mount that failed, by name.
func failedIDs(t *testing.T, dir string) map[string]string {
	t.Helper()
	_, status, err := mounted.Status(dir)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, u := range status.Uploads.List {
		ids[filepath.Base(u.Path)] = u.ID
	}
	return ids
}

// A person sees in a browser what failed, and decides there.
func TestUploadsShow(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, t.TempDir())
	failsIn(t, dir, "<b>ä.pdf")
	failsIn(t, dir, "b.pdf")
	ids := failedIDs(t, dir)
	show := start(t, "uploads", "show", "--no-browser", dir)
	page, body := openPage(t, show.line(""))
	for _, want := range []string{"&lt;b&gt;ä.pdf", "2 Dateien wurden nicht archiviert", "the end of the file is missing"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	if got := page.do(http.MethodGet, "save/"+ids["<b>ä.pdf"], ""); got != "%PDF-1.7 and no end" {
		t.Errorf("the copy is %q", got)
	}
	if body := page.do(http.MethodPost, "retry/"+ids["b.pdf"], "incomplete=yes"); !strings.Contains(body, "Sie wird noch einmal gesendet.") {
		t.Error(body)
	}
	heals(t, "it is archived", func() bool { return failedIDs(t, dir)["b.pdf"] == "" })
	wantFile(t, filepath.Join(dir, "My Archive", "b.pdf"), "%PDF-1.7 and no end")
	if body := page.do(http.MethodPost, "discard/"+ids["<b>ä.pdf"], "sure=yes"); !strings.Contains(body, "Sie ist verworfen.") || !strings.Contains(body, "Nichts ist fehlgeschlagen.") {
		t.Error(body)
	}
	m.stop()
	heals(t, "the page says that the mount is gone", func() bool {
		return strings.Contains(page.do(http.MethodGet, "state", ""), "there is no archive mounted at")
	})
	show.stop()
	o.running.stop()
}

// The button of a notification opens the page.
func TestUploadsShowFromANotification(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	desk := desktopSession(t)
	script := "#!/bin/sh\ncd " + home + "\necho \"$PPID $XDG_ACTIVATION_TOKEN $ARCHIVEFS_STATE_DIR $1\" >new && mv new opened\n"
	browser := filepath.Join(home, "bin", "xdg-open")
	if err := os.Mkdir(filepath.Dir(browser), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(browser, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(browser)+":"+os.Getenv("PATH"))
	t.Setenv("ARCHIVEFS_STATE_DIR", filepath.Join(home, "state"))
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, filepath.Join(home, "state"))
	failsIn(t, dir, "a.pdf")
	desk.Invoke(desk.Next().ID, "show", "token-1")
	var pid int
	var token, address string
	heals(t, "the browser is opened", func() bool {
		text, err := os.ReadFile(filepath.Join(home, "opened"))
		if err != nil {
			return false
		}
		if _, err := fmt.Sscan(string(text), &pid, &token, &address); err != nil { // and nothing of the mount's options
			t.Fatalf("%q: %v", text, err)
		}
		return true
	})
	defer heals(t, "the command ends", func() bool { return syscall.Kill(pid, syscall.SIGINT) != nil })
	if token != "token-1" {
		t.Errorf("the token of the desktop is %q", token)
	}
	_, body := openPage(t, address)
	if !strings.Contains(body, "a.pdf") {
		t.Error(body)
	}
	m.stop()
	o.running.stop()
}

func TestUploadsShowWrong(t *testing.T) {
	home := isolate(t)
	wantCall(t, 1, "there is no archive mounted at "+home, "uploads", "show", "--no-browser", home)
}
