package blob

import "hash"

// hashing is a hash that is made as its bytes come, or, once it has begun, by a goroutine of
// its own.
type hashing struct {
	hash.Hash
	todo chan []byte // nil while there is no goroutine
	free chan []byte // chunks that are hashed
}

// begin starts the goroutine, which end ends.
func (h *hashing) begin() {
	h.todo, h.free = make(chan []byte, chunks), make(chan []byte, chunks)
	for range chunks - 1 {
		h.free <- make([]byte, chunk)
	}
	go func(todo <-chan []byte, free chan<- []byte) {
		defer close(free)
		for p := range todo {
			_, _ = h.Write(p) // it never fails
			free <- p[:cap(p)]
		}
	}(h.todo, h.free)
}

// add takes the next n bytes, which p begins with, and returns where those that follow can be
// put.
func (h *hashing) add(p []byte, n int) []byte {
	if h.todo == nil {
		_, _ = h.Write(p[:n]) // it never fails
		return p
	}
	h.todo <- p[:n]
	return <-h.free
}

// end waits for what was taken; then Sum can be called. Called again it does nothing.
func (h *hashing) end() {
	if h.todo == nil {
		return
	}
	close(h.todo)
	for range h.free { // until all is hashed
	}
	h.todo = nil
}
