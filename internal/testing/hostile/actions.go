package hostile

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Answer answers without carrying the request out. The header is given in pairs, as
// "Retry-After", "1".
func Answer(status int, body string, header ...string) Action {
	return func(x *exchange) {
		if x.receive() {
			x.answer = scripted(status, body, header)
			x.send()
		}
	}
}

// AnswerUnread is Answer before the request's body is read, and the connection ends.
func AnswerUnread(status int, body string, header ...string) Action {
	return func(x *exchange) {
		x.answer = scripted(status, body, append(slices.Clone(header), "Connection", "close"))
		x.send()
	}
}

// AnswerAfter carries the request out and answers something else.
func AnswerAfter(status int, body string, header ...string) Action {
	return func(x *exchange) {
		if x.handle() {
			x.answer = scripted(status, body, header)
			x.send()
		}
	}
}

func scripted(status int, body string, header []string) answer {
	a := plain(status, body)
	for pair := range slices.Chunk(header, 2) {
		a.header.Set(pair[0], pair[len(pair)-1])
	}
	return a
}

// LoginPage answers 200 and an HTML form, as a proxy does whose session has ended.
func LoginPage() Action {
	return Answer(http.StatusOK, "<!DOCTYPE html><html><body><form action=\"/login\"><input name=\"user\"></form></body></html>",
		"Content-Type", "text/html; charset=utf-8")
}

// Redirect sends the client to the same path and query at another origin
// ("http://127.0.0.1:1234"), by 301, 302, 303, 307 or 308.
func Redirect(status int, origin string) Action {
	return func(x *exchange) {
		if x.receive() {
			x.answer = scripted(status, "", []string{"Location", origin + x.r.URL.RequestURI()})
			x.send()
		}
	}
}

// DropBefore reads the request and resets the connection without carrying it out.
func DropBefore() Action {
	return func(x *exchange) {
		x.receive()
		x.reset()
	}
}

// DropDuring resets the connection after n bytes of the request's body.
func DropDuring(n int64) Action {
	return func(x *exchange) {
		_, _ = io.CopyN(io.Discard, x.r.Body, n) // a shorter body is dropped at its end
		x.reset()
	}
}

// DropAfter carries the request out and resets the connection without an answer.
func DropAfter() Action {
	return func(x *exchange) {
		x.handle()
		x.reset()
	}
}

// DropThenHandle resets the connection at once and carries the request out when the
// gate lets it.
func DropThenHandle(g *Gate) Action {
	return func(x *exchange) {
		whole := x.receive()
		x.reset()
		if whole && x.outwait(g) {
			x.handle()
		}
	}
}

// StallBefore holds a request up before it is carried out. It is forgotten when the
// client goes away first.
func StallBefore(g *Gate) Action {
	return func(x *exchange) {
		if x.receive() && x.wait(g) {
			serve(x)
		}
	}
}

// StallUnread is StallBefore with the request's body unread, so that a long one does
// not get away. That the client goes away does not show: the test opens the gate.
func StallUnread(g *Gate) Action {
	return func(x *exchange) {
		if x.wait(g) {
			serve(x)
		}
	}
}

// LateHandle is StallBefore, but the request is carried out although the client went
// away.
func LateHandle(g *Gate) Action {
	return func(x *exchange) {
		if x.receive() && x.outwait(g) {
			serve(x)
		}
	}
}

// StallAfter carries a request out and holds its answer up.
func StallAfter(g *Gate) Action {
	return func(x *exchange) {
		if x.handle() && x.wait(g) {
			x.send()
		}
	}
}

// StallBody answers n bytes of the body and holds up the rest.
func StallBody(n int, g *Gate) Action {
	return body(func(x *exchange) {
		x.write(x.first(n))
		x.flush()
		if !x.wait(g) {
			x.abort()
		}
		x.write(x.answer.body[len(x.first(n)):])
	})
}

// Drip answers the body in pieces of n bytes, each when the gate lets it.
func Drip(n int, g *Gate) Action {
	return body(func(x *exchange) {
		for piece := range slices.Chunk(x.answer.body, n) {
			if !x.wait(g) {
				x.abort()
			}
			x.write(piece)
			x.flush()
		}
	})
}

// Trickle answers a byte of the body now and then, after many blanks where that is JSON or text:
// it goes on for longer than anybody should wait.
func Trickle(pause time.Duration) Action {
	const blanks = 2000
	return func(x *exchange) {
		if !x.handle() {
			return
		}
		if !strings.HasPrefix(x.r.URL.Path, x.cfg.BasePath+"/document/") || !strings.HasSuffix(x.r.URL.Path, "/pdf") {
			x.answer.body = append(bytes.Repeat([]byte(" "), blanks), x.answer.body...)
		}
		x.begin()
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for piece := range slices.Chunk(x.answer.body, 1) {
			x.write(piece)
			x.flush()
			select {
			case <-tick.C:
			case <-x.r.Context().Done():
				x.abort()
			case <-x.s.stop:
				x.abort()
			}
		}
	}
}

// Truncate answers n bytes of the body and ends the connection, so that what was
// announced does not come.
func Truncate(n int) Action {
	return body(func(x *exchange) {
		x.write(x.first(n))
		x.abort()
	})
}

// body carries the request out, begins the answer and leaves its body to deliver.
func body(deliver Action) Action {
	return func(x *exchange) {
		if x.handle() {
			x.begin()
			x.flush()
			deliver(x)
		}
	}
}

// Rewrite carries the request out and changes the body of the answer.
func Rewrite(change func(body []byte) []byte) Action {
	return func(x *exchange) {
		if x.handle() {
			x.answer.body = change(slices.Clone(x.answer.body))
			x.send()
		}
	}
}

// Cut answers the first n bytes as if they were all.
func Cut(n int) Action {
	return Rewrite(func(body []byte) []byte { return body[:min(n, len(body))] })
}

// Break makes the byte at an offset one that is valid nowhere in JSON.
func Break(offset int) Action {
	return Rewrite(func(body []byte) []byte {
		if offset < len(body) {
			body[offset] = 0x01
		}
		return body
	})
}

// Unlisted carries the request out; the document that it makes is left out of the
// first n listings that should show it.
func Unlisted(n int) Action {
	return func(x *exchange) {
		x.hide = n
		serve(x)
	}
}
