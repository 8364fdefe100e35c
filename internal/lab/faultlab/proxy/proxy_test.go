package proxy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a proxy before a service that counts what reaches it.
type bench struct {
	*Proxy
	client *http.Client
	served atomic.Int64
}

func start(t *testing.T, faults ...Fault) *bench {
	t.Helper()
	b := &bench{client: &http.Client{Transport: &http.Transport{}}}
	var clock atomic.Uint64
	p, err := Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.served.Add(1)
		_, _ = io.Copy(w, io.MultiReader(bytes.NewReader([]byte("answer to ")), r.Body))
	}), func() uint64 { return clock.Add(1) }, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	b.Proxy = p
	p.Fail(faults...)
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// post asks for an upload and returns the answer.
func (b *bench) post(t *testing.T) (status int, body string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.Addr()+"/api/v2/file-upload", bytes.NewReader([]byte("question")))
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close() //nolint:errcheck // read only
	all, err := io.ReadAll(res.Body)
	return res.StatusCode, string(all), err
}

func TestDeeds(t *testing.T) {
	tests := map[Deed]struct {
		status int // of AnswerBefore and AnswerAfter
		served int64
		body   string // of an answer without an error
		broken bool
	}{
		ResetBefore:  {broken: true},
		ResetDuring:  {broken: true},
		ResetAfter:   {served: 1, broken: true},
		AnswerBefore: {status: 503},
		AnswerAfter:  {status: 400, served: 1},
		Truncate:     {served: 1, broken: true},
		Garbage:      {served: 1, body: "{\"\xff garbage"},
		Trickle:      {served: 1, body: strings.Repeat(" ", blanks) + "answer to question"},
		Delay:        {served: 1, body: "answer to question"},
		Slow:         {served: 1, body: "answer to question"},
		Away:         {broken: true},
	}
	for deed, test := range tests {
		t.Run(string(deed), func(t *testing.T) {
			b := start(t, Fault{Op: Upload, Nth: 1, Times: 1, Deed: deed, Status: test.status, For: time.Millisecond})
			status, body, err := b.post(t)
			if (err != nil) != test.broken {
				t.Errorf("error %v, want one: %v", err, test.broken)
			}
			if test.status != 0 && status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if test.body != "" && body != test.body {
				t.Errorf("answered %q, want %q", body, test.body)
			}
			if got := b.served.Load(); got != test.served {
				t.Errorf("the service saw %d requests, want %d", got, test.served)
			}
			if total := len(b.Struck()); total != 1 {
				t.Errorf("counted %v, want one fault", b.Struck())
			}
		})
	}
}

func TestHangsEndWithHealing(t *testing.T) {
	for deed, served := range map[Deed]int64{HangBefore: 0, HangAfter: 1} {
		t.Run(string(deed), func(t *testing.T) {
			b := start(t, Fault{Op: Any, Nth: 1, Times: 1, Deed: deed})
			failed := make(chan error, 1)
			go func() {
				_, _, err := b.post(t)
				failed <- err
			}()
			eventually(t, func() bool { return b.Struck()["net "+string(deed)] == 1 && b.served.Load() == served })
			if err := b.Heal(); err != nil {
				t.Fatal(err)
			}
			// It may have been struck and not hang yet.
			for done := false; !done; {
				select {
				case err := <-failed:
					done = true
					if err == nil {
						t.Error("what hung was answered, want a reset")
					}
				case <-time.After(10 * time.Millisecond):
					if err := b.Heal(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := b.served.Load(); got != served {
				t.Errorf("the service saw %d requests, want %d", got, served)
			}
		})
	}
}

func TestAwayRefusesConnections(t *testing.T) {
	b := start(t, Fault{Op: Any, Nth: 1, Times: 1, Deed: Away, For: time.Hour})
	if _, _, err := b.post(t); err == nil {
		t.Error("the first request was answered")
	}
	if _, _, err := b.post(t); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the second request: %v, want a refused connection", err)
	}
	if err := b.Heal(); err != nil {
		t.Fatal(err)
	}
	if _, body, err := b.post(t); err != nil || body != "answer to question" {
		t.Errorf("after healing: %q, %v", body, err)
	}
}

// An absence that ends with the proxy, or after it, is followed by nothing.
func TestNothingComesBackAfterTheEnd(t *testing.T) {
	b := start(t, Fault{Op: Any, Nth: 1, Times: 1, Deed: Away, For: time.Hour})
	if _, _, err := b.post(t); err == nil {
		t.Error("the first request was answered")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := b.comeBack(); err != nil || !b.Away() { // as its timer calls it
		t.Errorf("it takes connections again, %v", err)
	}
}

func TestNthAndTimes(t *testing.T) {
	b := start(t, Fault{Op: Upload, Nth: 2, Times: 2, Deed: AnswerBefore, Status: 500},
		Fault{Op: List, Nth: 1, Times: 9, Deed: ResetBefore})
	var got []int
	for range 4 {
		status, _, err := b.post(t)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	if want := []int{200, 500, 500, 200}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
}

// eventually returns when a condition holds, and fails the test when that takes too long.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not come to that")
		}
	}
}

func TestUploadedContentsAreNoted(t *testing.T) {
	b := start(t)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("target-folder-id", "1")
	file, err := form.CreateFormFile("upload-data", "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write([]byte("content"))
	_ = form.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.Addr()+"/file-upload", &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	res, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	passed := b.Passed()
	if len(passed) != 1 || passed[0].Sum != sha256.Sum256([]byte("content")) || passed[0].Time == 0 {
		t.Errorf("noted %v, want the content and the time", passed)
	}
}
