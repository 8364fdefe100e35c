package apiclient

import (
	"errors"
	"io"
	"sync"
)

// receiving is an answer's body. Its errors are *archive.Error values but for io.EOF,
// and its bytes come at the least pace.
type receiving struct {
	attempt *attempt
	source  io.ReadCloser
	pace    int
	closing sync.Once
}

// Read implements io.Reader.
func (b *receiving) Read(p []byte) (int, error) {
	b.attempt.guard.arm()
	n, err := b.source.Read(p)
	b.attempt.guard.rest()
	b.attempt.guard.earn(n, b.pace)
	b.attempt.counts.received.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.attempt.failure(err)
	}
	return n, err
}

// Close ends the request, also while another goroutine reads.
func (b *receiving) Close() error {
	var err error
	b.closing.Do(func() {
		err = b.source.Close()
		b.attempt.release()
	})
	return err
}

// drainLimit is how much of an answer that nobody needs is read, so that its connection
// can be used again.
const drainLimit = 64 << 10

// discard closes body after reading what is left of it, up to drainLimit. What fails
// here fails nobody: the connection is then not used again.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, drainLimit)
	_ = body.Close()
}
