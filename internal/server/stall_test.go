package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

// serving serves h at an address of its own until the test ends.
func (h *service) serving() (address string) {
	h.t.Helper()
	return h.servingOn(listening(h.t))
}

// narrow is serving with connections that buffer only a few hundred KiB.
func (h *service) narrow() (address string) {
	h.t.Helper()
	return h.servingOn(narrow{listening(h.t)})
}

func listening(t testing.TB) net.Listener {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// narrow makes connections with small buffers. The kernel's own hold megabytes.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn, conn.(*net.TCPConn).SetWriteBuffer(64 << 10) // of network tcp
}

func (h *service) servingOn(ln net.Listener) (address string) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, ln) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	})
	return ln.Addr().String()
}

// raw sends text over a connection of its own, which the caller reads from.
func raw(t *testing.T, address, text string) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn) // of network tcp
}

// rest reads from a connection until the service closes it.
func rest(t *testing.T, conn net.Conn) []answer {
	t.Helper()
	var answers []answer
	in := bufio.NewReader(conn)
	for {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return answers
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return answers
		}
		_ = response.Body.Close()
		answers = append(answers, answer{status: response.StatusCode, header: response.Header, body: string(body)})
	}
}

// unhurried tries with a service that hardly waits for its clients. A busy machine may use up that time itself, so a test that
// fails is tried again with services that wait longer.
func unhurried(t *testing.T, try func(h *service) error, change ...func(*server.Options)) {
	t.Helper()
	var err error
	for _, limit := range []time.Duration{50 * time.Millisecond, 2 * time.Second, time.Minute} {
		if err = try(start(t, append(change, func(o *server.Options) { o.Stall = limit })...)); err == nil {
			return
		}
	}
	t.Error(err)
}

// A client that stops in the middle of a body is answered 408, and nothing of the body stays.
func TestASenderThatStops(t *testing.T) {
	for name, request := range map[string]string{
		"upload": "POST /api/v2/file-upload HTTP/1.1\r\nContent-Type: ",
		"form":   "POST /api/v2/folder/create HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded",
		"json":   "POST /api/v2/document/1/keywords HTTP/1.1\r\nContent-Type: application/json",
	} {
		t.Run(name, func(t *testing.T) {
			unhurried(t, func(h *service) error {
				o := furnish(t, h)
				body, contentType := multipartBody(t, "f", strings.Repeat("x", 1000), "target-folder-id", text(o.year))
				half := body.String()[:body.Len()/2]
				head := request
				if name == "upload" {
					head += contentType
				}
				conn := raw(t, h.serving(), head+fmt.Sprintf("\r\nHost: h\r\nAPI-Key: %s\r\nContent-Length: %d\r\n\r\n%s", testKey, body.Len(), half))
				answers := rest(t, conn)
				if len(answers) != 1 {
					return fmt.Errorf("%d answers", len(answers))
				}
				wantProblem(t, answers[0], http.StatusRequestTimeout, "")
				wantStaged(t, h, 0)
				if n := len(h.list(o.year)); n != 2 {
					t.Errorf("%d documents", n)
				}
				return nil
			})
		})
	}
}

// An occasional byte does not help.
func TestASenderThatIsTooSlow(t *testing.T) {
	unhurried(t, func(h *service) error {
		o := furnish(t, h)
		body, contentType := multipartBody(t, "f", strings.Repeat("x", 10_000), "target-folder-id", text(o.year))
		whole := body.String()
		conn := raw(t, h.serving(), fmt.Sprintf("POST /api/v2/file-upload HTTP/1.1\r\nHost: h\r\nAPI-Key: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", testKey, contentType, len(whole)))
		go func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for n := range whole {
				if _, err := io.WriteString(conn, whole[n:n+1]); err != nil {
					return
				}
				<-tick.C
			}
		}()
		answers := rest(t, conn)
		if len(answers) != 1 {
			return fmt.Errorf("%d answers", len(answers))
		}
		wantProblem(t, answers[0], http.StatusRequestTimeout, "")
		wantStaged(t, h, 0)
		return nil
	})
}

// A client that is answered before it sends the body cannot keep the connection open by sending nothing.
func TestABodyThatNobodyWantsIsNotWaitedFor(t *testing.T) {
	unhurried(t, func(h *service) error {
		answers := rest(t, raw(t, h.serving(), "POST /api/v2/file-upload HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n"))
		if len(answers) != 1 || answers[0].status != http.StatusUnauthorized {
			return fmt.Errorf("%+v", answers)
		}
		return nil
	})
}

// large adds a document that exceeds all buffers of a connection.
func (h *service) large() (id archive.ID, size int64) {
	h.t.Helper()
	folder, err := h.AddMandator(h.t.Context(), "M")
	if err != nil {
		h.t.Fatal(err)
	}
	size = 32 << 20
	id, err = h.AddDocument(h.t.Context(), server.NewDocument{Folder: folder, Name: "f", Created: day, Archived: day}, bytes.NewReader(make([]byte, size)))
	if err != nil {
		h.t.Fatal(err)
	}
	return id, size
}

// A client that reads nothing is cut.
func TestAReaderThatStops(t *testing.T) {
	ended := make(chan server.Request, 1)
	h := start(t, func(o *server.Options) {
		o.Stall, o.OnRequest = 20*time.Millisecond, func(r server.Request) { ended <- r }
	})
	id, size := h.large()
	conn := raw(t, h.serving(), fmt.Sprintf("GET /api/v2/document/%d/pdf?original=true HTTP/1.1\r\nHost: h\r\nAPI-Key: %s\r\n\r\n", id, testKey))
	if r := <-ended; r.Status != http.StatusOK || r.Bytes >= size {
		t.Errorf("%d of %d bytes were sent to nobody: %+v", r.Bytes, size, r)
	}
	if n, err := io.Copy(io.Discard, conn); n >= size {
		t.Errorf("the client has %d bytes, %v", n, err)
	}
}

// A slow client gets the whole answer, although the kernel makes room in its buffer only in large steps: it
// keeps the pace, but is far too slow for a stretch of the answer within Stall.
func TestAReaderThatIsSlow(t *testing.T) {
	const limit = time.Second
	h := start(t, func(o *server.Options) { o.Stall = limit })
	id, size := h.large()
	slow := func() (longest time.Duration, err error) { // 3 s at 200 KB/s, and then the rest
		conn := raw(t, h.serving(), fmt.Sprintf("GET /api/v2/document/%d/pdf?original=true HTTP/1.1\r\nHost: h\r\nAPI-Key: %s\r\nConnection: close\r\n\r\n", id, testKey))
		if err := conn.SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		got, before := int64(0), time.Now()
		for range 150 {
			n, err := io.ReadFull(conn, make([]byte, 4<<10))
			if got += int64(n); err != nil {
				return longest, fmt.Errorf("cut after %d bytes: %w", got, err)
			}
			<-tick.C
			longest, before = max(longest, time.Since(before)), time.Now()
		}
		n, err := io.Copy(io.Discard, conn)
		if got += n; got <= size {
			err = errors.Join(fmt.Errorf("the client has %d bytes of %d", got, size), err)
		}
		return max(longest, time.Since(before)), err
	}
	longest, err := slow()
	for tries := 0; err != nil && longest > limit/4 && tries < 20; tries++ { // on a busy machine it may have stopped
		longest, err = slow()
	}
	if err != nil {
		t.Error(err)
	}
}

// The same over HTTP/2, where one of several requests stops and the connection does not.
func TestOneOfSeveralThatStops(t *testing.T) {
	ended := make(chan server.Request, 10)
	unhurried(t, func(h *service) error {
		id, size := h.large()
		front := httptest.NewUnstartedServer(h.Handler())
		front.EnableHTTP2 = true
		front.StartTLS()
		t.Cleanup(front.Close)
		ask := func(method, path, contentType string, body io.Reader) (*http.Response, error) {
			r, err := http.NewRequestWithContext(t.Context(), method, front.URL+"/api/v2"+path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("API-Key", testKey)
			r.Header.Set("Content-Type", contentType)
			answer, err := front.Client().Do(r)
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = answer.Body.Close() })
			if answer.ProtoMajor != 2 {
				t.Fatalf("%s", answer.Proto)
			}
			return answer, nil
		}
		content, err := ask(http.MethodGet, "/document/"+text(id)+"/pdf?original=true", "", nil) //nolint:bodyclose // by ask
		if r := <-ended; r.Bytes >= size {
			t.Errorf("%d of %d bytes were sent to nobody", r.Bytes, size)
		}
		if err != nil {
			return err
		}
		if n, err := io.Copy(io.Discard, content.Body); err == nil || n >= size {
			t.Errorf("the client has %d bytes, %v", n, err)
		}
		nothing, still := io.Pipe()
		t.Cleanup(func() { _ = still.Close() })
		a, err := ask(http.MethodPost, "/folder/create", "application/x-www-form-urlencoded", nothing) //nolint:bodyclose // by ask
		if <-ended; err != nil {
			return fmt.Errorf("a body that does not come: %w", err)
		}
		if a.StatusCode != http.StatusRequestTimeout {
			t.Errorf("a body that does not come: %s", a.Status)
		}
		a, err = ask(http.MethodGet, "/inboxes", "", nil) //nolint:bodyclose // by ask
		if <-ended; err != nil {
			return fmt.Errorf("the connection: %w", err)
		}
		if a.StatusCode != http.StatusOK {
			t.Errorf("the connection: %s", a.Status)
		}
		return nil
	}, func(o *server.Options) { o.OnRequest = func(r server.Request) { ended <- r } })
}

// A client that leaves while a list is sent counts as a client error, not as one of the service.
func TestAReaderThatLeaves(t *testing.T) {
	log, hook := test.NewNullLogger()
	ended := make(chan server.Request, 1)
	h := start(t, func(o *server.Options) { o.Log, o.OnRequest = log, func(r server.Request) { ended <- r } })
	folder, err := h.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 { // with long values: more than connections have buffers for
		if _, err := h.AddDocument(t.Context(), server.NewDocument{
			Folder: folder, Name: strings.Repeat("n", 1000), Created: day, Archived: day, Metadata: []archive.KeyValue{{Key: "k", Value: strings.Repeat("v", 100_000)}},
		}, strings.NewReader(strconv.Itoa(n))); err != nil {
			t.Fatal(err)
		}
	}
	conn := raw(t, h.narrow(), fmt.Sprintf("GET /api/v2/document/list?folder-id=%d HTTP/1.1\r\nHost: h\r\nAPI-Key: %s\r\n\r\n", folder, testKey))
	if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Status != http.StatusOK || r.Bytes > 2_000_000 {
		t.Errorf("%+v", r)
	}
	for _, entry := range hook.AllEntries() {
		if entry.Level <= logrus.WarnLevel {
			t.Errorf("logged: %s %v", entry.Message, entry.Data)
		}
	}
}

// Idle connections and slow work of the service do not count as stalling.
func TestAConnectionIsUsedAgain(t *testing.T) {
	unhurried(t, func(h *service) error {
		o := furnish(t, h)
		reused := 0
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		h.url, h.client = "http://"+h.serving()+"/api/v2", &http.Client{Transport: transport}
		for range 3 {
			body, contentType := multipartBody(t, "f", "x", "target-folder-id", text(o.year))
			request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
				if i.Reused {
					reused++
				}
			}}), http.MethodPost, h.url+"/file-upload", body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("API-Key", testKey)
			request.Header.Set("Content-Type", contentType)
			response, err := h.client.Do(request)
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return errors.New(response.Status)
			}
			<-time.After(2 * h.options.Stall)
		}
		if reused != 2 {
			return fmt.Errorf("a connection was used again %d times", reused)
		}
		return nil
	})
}
