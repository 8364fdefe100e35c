package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

const instanceKey = "k-0123456789"

// instances are services of one archive, with its database and its bucket.
type instances struct {
	t    *testing.T
	args []string
}

func newInstances(t *testing.T) *instances {
	t.Helper()
	fusetest.Need(t)
	s3 := s3test.Start(t)
	blobs, database := s3.Bucket(t, "archive", "path-style=true"), pgtest.Database(t)
	isolate(t)
	return &instances{t: t, args: []string{
		"serve", "--listen", "127.0.0.1:0", "--api-key", instanceKey, "--database", database, "--blobs", blobs,
	}}
}

// start starts another instance, and returns it with its host and port.
func (i *instances) start() (instance *program, host string) {
	i.t.Helper()
	instance = start(i.t, append(i.args, "--data", i.t.TempDir())...)
	return instance, instance.address()
}

// address waits until a service can be used, and returns its host and port.
func (p *program) address() string {
	p.t.Helper()
	_, at, _ := strings.Cut(p.line("serving "), " at http://")
	return strings.TrimSuffix(at, "/api/v2")
}

// mount mounts what a service has, until the test ends at the latest.
func (i *instances) mount(host string) (mount *program, dir string) {
	i.t.Helper()
	dir = i.t.TempDir()
	mount = startMount(i.t, dir, "--base-url", "http://"+host, "--api-key", instanceKey, "--state-dir", i.t.TempDir(), "--ttl", "1s", "--retry-for", "5m")
	mount.line("mounted ")
	return mount, dir
}

// get returns what an instance answers.
func (i *instances) get(host, path string) []byte {
	i.t.Helper()
	request, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, "http://"+host+"/api/v2"+path, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	request.Header.Set("API-Key", instanceKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		i.t.Fatalf("%s: %s %s, %v", path, response.Status, body, err)
	}
	return body
}

// documents returns what all of the archive's documents hold, by name; names are there once.
func (i *instances) documents(host string) map[string]string {
	i.t.Helper()
	var tree struct {
		Folders []struct{ ID int64 }
	}
	if err := json.Unmarshal(i.get(host, "/archivestructure"), &tree); err != nil {
		i.t.Fatal(err)
	}
	found := map[string]string{}
	for _, mandator := range tree.Folders {
		var documents []struct {
			ID   int64
			Name string
		}
		if err := json.Unmarshal(i.get(host, "/document/list?subfolders-recursive=true&folder-id="+strconv.FormatInt(mandator.ID, 10)), &documents); err != nil {
			i.t.Fatal(err)
		}
		for _, d := range documents {
			if _, twice := found[d.Name]; twice {
				i.t.Errorf("%s is there twice", d.Name)
			}
			found[d.Name] = string(i.get(host, "/document/"+strconv.FormatInt(d.ID, 10)+"/pdf?original=true"))
		}
	}
	return found
}

// A bucket that cannot be used is told before anything is served, in one sentence.
func TestServeWithoutItsBucket(t *testing.T) {
	s3, database := s3test.Start(t), pgtest.Database(t)
	isolate(t)
	for address, want := range map[string]string{
		"s3://absent?endpoint=" + s3.URL:                     "bucket absent: service unreachable: " + s3.URL + " has no such bucket; make it, or name another one",
		"s3://absent?timeout=1s&endpoint=http://127.0.0.1:1": "http://127.0.0.1:1: it cannot be reached; look whether it runs, and at endpoint: dial tcp",
	} {
		status, stdout, stderr := call(t, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--api-key", instanceKey, "--database", database, "--blobs", address)
		if status != 1 || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, s3test.SecretKey) {
			t.Errorf("exit status %d, output %q, error %q; want 1 and %q", status, stdout, stderr, want)
		}
	}
}

// passOn puts a file into one mount and waits until another one shows it.
func passOn(t *testing.T, from, to, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o600); err != nil {
		t.Fatal(err)
	}
	heals(t, "the other instance shows "+name, func() bool {
		content, err := os.ReadFile(filepath.Join(to, name))
		return err == nil && string(content) == name
	})
}

// What one instance takes the others show.
func TestInstancesAgree(t *testing.T) {
	all := newInstances(t)
	// Both find an empty archive, and one of them makes what every archive needs.
	one, other := start(t, append(all.args, "--data", t.TempDir())...), start(t, append(all.args, "--data", t.TempDir())...)
	oneHost, otherHost := one.address(), other.address()
	here, hereDir := all.mount(oneHost)
	there, thereDir := all.mount(otherHost)
	wantEntries(t, hereDir, "My Archive inboxes")
	if err := os.Mkdir(filepath.Join(hereDir, "My Archive", "Letters"), 0o700); err != nil {
		t.Fatal(err)
	}
	scan, archived := "inboxes/Inbox/scan.txt", "My Archive/Letters/scan.txt"
	passOn(t, hereDir, thereDir, "My Archive/Letters/letter.txt")
	passOn(t, thereDir, hereDir, "My Archive/Letters/answer.txt")
	passOn(t, hereDir, thereDir, scan)
	if err := os.Rename(filepath.Join(hereDir, scan), filepath.Join(hereDir, archived)); err != nil {
		t.Fatal(err)
	}
	heals(t, "the other instance shows it archived", func() bool {
		_, gone := os.Stat(filepath.Join(thereDir, scan))
		content, err := os.ReadFile(filepath.Join(thereDir, archived))
		return errors.Is(gone, os.ErrNotExist) && err == nil && string(content) == scan
	})
	here.stop()
	there.stop()
	one.stop()
	other.stop()
}

// front hands requests to instances in turn, and to the next where one takes no connection.
type front struct {
	hosts   []string
	turn    atomic.Uint64
	uploads atomic.Int32
	before  func(upload int, host string, r *http.Request)
}

// RoundTrip implements http.RoundTripper.
func (f *front) RoundTrip(r *http.Request) (response *http.Response, err error) {
	upload := int32(0)
	if strings.HasSuffix(r.URL.Path, "/file-upload") {
		upload = f.uploads.Add(1)
	}
	body, first := r.Body, f.turn.Add(1)
	for k := range uint64(len(f.hosts)) {
		if body != nil {
			r.Body = io.NopCloser(body) // where nobody listens it is still to be sent
		}
		r.URL.Host = f.hosts[(first+k)%uint64(len(f.hosts))]
		if upload > 0 {
			f.before(int(upload), r.URL.Host, r)
		}
		response, err = http.DefaultTransport.RoundTrip(r)
		if failed := new(net.OpError); !errors.As(err, &failed) || failed.Op != "dial" {
			break
		}
	}
	return response, err
}

// atEnd calls done once a body was read.
type atEnd struct {
	io.ReadCloser
	done func()
}

// Read implements io.Reader.
func (a atEnd) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		a.done()
	}
	return n, err
}

// serve serves what the front answers, and returns its host and port.
func (f *front) serve(t *testing.T) string {
	t.Helper()
	quiet := httptest.NewServer(&httputil.ReverseProxy{
		Transport:    f,
		Rewrite:      func(r *httputil.ProxyRequest) { r.Out.URL.Scheme = "http" },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(quiet.Close)
	return quiet.Listener.Addr().String()
}

// scatter makes files with bytes of their own, and returns what they hold.
func scatter(t *testing.T, dir string, n int) map[string]string {
	t.Helper()
	random, made := rand.NewChaCha8(sha256.Sum256([]byte(dir))), map[string]string{}
	for k := range n {
		content := make([]byte, 1+k*k*3)
		_, _ = random.Read(content)
		name := fmt.Sprintf("document %03d.bin", k)
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		made[name] = string(content)
	}
	return made
}

// An instance that is killed while it receives an upload costs no document and makes none twice.
func TestAnInstanceIsKilled(t *testing.T) {
	all := newInstances(t)
	doomed, doomedHost := all.start()
	survivor, survivorHost := all.start()
	killed := make(chan struct{})
	var once sync.Once
	f := &front{hosts: []string{doomedHost, survivorHost}, before: func(upload int, host string, r *http.Request) {
		if upload >= 60 && host == doomedHost {
			r.Body = atEnd{r.Body, func() {
				once.Do(func() {
					_ = doomed.cmd.Process.Kill()
					close(killed)
				})
			}}
		}
	}}
	mount, dir := all.mount(f.serve(t))
	from := t.TempDir()
	want := scatter(t, from, 200)
	copying := exec.CommandContext(t.Context(), "sh", "-c", `find "$1" -type f -print0 | xargs -0 -P 8 -n 5 cp -t "$2"`, "sh", from, filepath.Join(dir, "My Archive"))
	if out, err := copying.CombinedOutput(); err != nil {
		t.Errorf("cp: %v: %s; the mount said %s", err, out, mount.said())
	}
	<-killed
	mount.stop()
	doomed.wantExit(-1)
	again, againHost := all.start()
	for _, host := range []string{survivorHost, againHost} {
		got := all.documents(host)
		for name, content := range want {
			if got[name] != content {
				t.Errorf("%s has %d bytes, want %d", name, len(got[name]), len(content))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d documents, want %d", len(got), len(want))
		}
	}
	again.stop()
	survivor.stop()
}
