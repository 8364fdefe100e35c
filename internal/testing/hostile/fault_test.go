package hostile_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// struck returns a service with one fault on its uploads, and a caller of it.
func struck(t *testing.T, do hostile.Action) (*hostile.Service, *caller) {
	t.Helper()
	s := hostile.New(hostile.Config{})
	s.AddMandator("M")
	s.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: do})
	return s, start(t, s)
}

// try uploads a file and returns the status, 0 when there is no answer.
func (c *caller) try(content string) int {
	c.Helper()
	kind, body := multipartBody(c, "x", content, "target-folder-id", "1")
	resp, _, err := c.do("POST", "/file-upload", kind, body)
	if err != nil {
		return 0
	}
	return resp.StatusCode
}

func TestFaultsOfUploads(t *testing.T) {
	open := hostile.NewGate()
	open.Open()
	tests := []struct {
		name    string
		do      hostile.Action
		size    int
		status  int
		handled bool
	}{
		{"answer", hostile.Answer(503, "later", "Retry-After", "1"), 1, 503, false},
		{"answer unread", hostile.AnswerUnread(413, "too large"), 1, 413, false},
		{"answer after", hostile.AnswerAfter(500, "oops"), 1, 500, true},
		{"login page", hostile.LoginPage(), 1, 200, false},
		{"redirect", hostile.Redirect(307, "http://127.0.0.1:1"), 1, 307, false},
		{"drop before", hostile.DropBefore(), 1, 0, false},
		{"drop during", hostile.DropDuring(1000), 1 << 20, 0, false},
		{"drop after", hostile.DropAfter(), 1, 0, true},
		{"stall before", hostile.StallBefore(open), 1, 200, true},
		{"stall unread", hostile.StallUnread(open), 1, 200, true},
		{"stall after", hostile.StallAfter(open), 1, 200, true},
		{"truncate", hostile.Truncate(0), 1, 0, true},
		{"unlisted", hostile.Unlisted(2), 1, 200, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, c := struck(t, tt.do)
			status := c.try(strings.Repeat("x", tt.size))
			made := len(s.Documents(1)) == 1
			r := s.Requests()[0]
			if status != tt.status || made != tt.handled || !r.Struck || r.Handled != tt.handled {
				t.Errorf("answered %d, made a document: %v, recorded %+v", status, made, r)
			}
			if status := c.try("x"); status != http.StatusOK {
				t.Errorf("the next one answered %d", status)
			}
			noViolations(t, s)
		})
	}
}

func TestFaultChoosesItsRequests(t *testing.T) {
	s := full(hostile.Config{})
	s.Fault(hostile.Fault{Path: "/document/{id}/data", Nth: 2, Times: 2, Do: hostile.Answer(503, "", "Retry-After", "7")})
	s.Fault(hostile.Fault{Method: "GET", Path: "/inboxes", Times: hostile.Always, Do: hostile.Answer(500, "")})
	c := start(t, s)
	for i, want := range []int{200, 503, 503, 200} {
		resp, _ := c.ask("GET", "/document/1/data", "", nil)
		if resp.StatusCode != want || (resp.Header.Get("Retry-After") == "7") != (want == 503) {
			t.Errorf("request %d answered %d", i, resp.StatusCode)
		}
	}
	for range 3 {
		if status, _ := c.get("/inboxes"); status != 500 {
			t.Errorf("inboxes answered %d", status)
		}
	}
	s.ClearFaults()
	if status, _ := c.get("/inboxes"); status != 200 {
		t.Errorf("without faults answered %d", status)
	}
	if got := []int{s.Count("GET", "/document/{id}/data"), s.Count("POST", ""), s.Count("", ""), s.Peak()}; got[0] != 4 || got[1] != 0 || got[2] != 8 || got[3] != 1 {
		t.Errorf("counted %v", got)
	}
}

func TestFaultsOfBodies(t *testing.T) {
	tests := []struct {
		name  string
		do    hostile.Action
		body  string
		whole bool
	}{
		{"truncate", hostile.Truncate(4), "0123", false},
		{"cut", hostile.Cut(4), "0123", true},
		{"break", hostile.Break(4), "0123\x0156789", true},
		{"rewrite", hostile.Rewrite(func(b []byte) []byte { return b[8:] }), "89", true},
	}
	for _, tt := range tests {
		for _, chunked := range []bool{false, true} {
			s := full(hostile.Config{Content: hostile.ContentShape{Chunked: chunked}})
			s.Fault(hostile.Fault{Do: tt.do})
			_, body, err := start(t, s).do("GET", original, "", nil)
			if string(body) != tt.body || (err == nil) != tt.whole {
				t.Errorf("%s (chunked: %v) answered %q (%v)", tt.name, chunked, body, err)
			}
		}
	}
}

func TestBodyComesStepwise(t *testing.T) {
	for name, tt := range map[string]struct {
		do    func(*hostile.Gate) hostile.Action
		steps []string
	}{
		"drip":  {func(g *hostile.Gate) hostile.Action { return hostile.Drip(4, g) }, []string{"", "0123", "4567", "89"}},
		"stall": {func(g *hostile.Gate) hostile.Action { return hostile.StallBody(3, g) }, []string{"012", "3456789"}},
	} {
		t.Run(name, func(t *testing.T) {
			gate := hostile.NewGate()
			s := full(hostile.Config{})
			s.Fault(hostile.Fault{Do: tt.do(gate)})
			c := start(t, s)
			r, err := http.NewRequestWithContext(t.Context(), "GET", c.base+original, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			for i, want := range tt.steps {
				if i > 0 {
					gate.Step()
				}
				got := make([]byte, len(want))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
					t.Fatalf("step %d is %q (%v)", i, got, err)
				}
			}
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) != 0 {
				t.Errorf("then came %q (%v)", rest, err)
			}
		})
	}
}

// giveUp uploads a file, gives up once the gate has it, and waits until the client
// has its error.
func giveUp(t *testing.T, c *caller, gate *hostile.Gate) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	kind, body := multipartBody(t, "x", "late", "target-folder-id", "1")
	r, err := http.NewRequestWithContext(ctx, "POST", c.base+"/file-upload", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	ended := make(chan error)
	go func() {
		resp, err := c.client.Do(r)
		if err == nil {
			err = resp.Body.Close()
		}
		ended <- err
	}()
	<-gate.Arrived()
	cancel()
	if err := <-ended; err == nil {
		t.Error("the stalled upload was answered")
	}
}

func TestLateCommit(t *testing.T) {
	for name, do := range map[string]func(*hostile.Gate) hostile.Action{
		"late handle": hostile.LateHandle, "drop then handle": hostile.DropThenHandle,
	} {
		t.Run(name, func(t *testing.T) {
			gate := hostile.NewGate()
			s, c := struck(t, do(gate))
			giveUp(t, c, gate)
			if docs := s.Documents(1); len(docs) != 0 {
				t.Fatalf("made %+v too early", docs)
			}
			gate.Step()
			s.Wait()
			if docs := s.Documents(1); len(docs) != 1 || string(docs[0].Content) != "late" {
				t.Errorf("made %+v", docs)
			}
		})
	}
}

func TestStallForgetsWhoGoesAway(t *testing.T) {
	gate := hostile.NewGate()
	s, c := struck(t, hostile.StallBefore(gate))
	giveUp(t, c, gate)
	s.Wait()
	if docs := s.Documents(1); len(docs) != 0 {
		t.Errorf("made %+v", docs)
	}
}

func TestEndOfTheTestEndsStalls(t *testing.T) {
	gate := hostile.NewGate()
	t.Run("stalled", func(t *testing.T) {
		s, c := struck(t, hostile.StallUnread(gate))
		kind, body := multipartBody(t, "x", "x", "target-folder-id", "1")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _, _ = c.do("POST", "/file-upload", kind, body)
		}()
		<-gate.Arrived()
		s.Close()
		<-ended
		if docs := s.Documents(1); len(docs) != 0 {
			t.Errorf("made %+v", docs)
		}
	})
}

func TestVisibleAfter(t *testing.T) {
	s := hostile.New(hostile.Config{Upload: hostile.UploadShape{VisibleAfter: 2}})
	s.AddMandator("M")
	c := start(t, s)
	c.upload("x", "x", "target-folder-id", "1")
	for i, want := range []int{0, 0, 1, 1} {
		if got := c.list("/document/list?folder-id=1"); len(got) != want {
			t.Errorf("listing %d shows %d", i, len(got))
		}
	}
	if got := c.object("/document/1/data"); got["name"] != "x" {
		t.Errorf("data is %v", got)
	}
}
