package command

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// What is left shrinks with what is done, and never becomes less than nothing; when it ends, who
// measures is told.
func TestProgressFollows(t *testing.T) {
	out, in := io.Pipe()
	bar := &Progress{terminal: in}
	var seen, rows atomic.Int64
	var asked context.Context
	stop := bar.Follow(t.Context(), func(ctx context.Context) Backlog {
		asked = ctx
		return Backlog{What: "content", Uploads: 3, Bytes: 3 << 10}
	}, func() Backlog {
		return Backlog{Uploads: int(seen.Load()), Bytes: seen.Load() << 10, Rows: -rows.Load()}
	})
	shown := func(want string) {
		t.Helper()
		for text, part := "", make([]byte, 1<<10); !strings.Contains(text, want); {
			n, err := out.Read(part)
			if err != nil {
				t.Fatal(err)
			}
			text += string(part[:n])
		}
	}
	shown("3 contents, 3.0 KiB left")
	seen.Store(2)
	shown("1 content, 1.0 KiB left")
	rows.Store(8)
	seen.Store(4)
	shown("8 rows left")
	rows.Store(1)
	shown("1 row left")
	rows.Store(0)
	shown("0 contents, 0 B left")
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out)
	}()
	stop()
	if asked.Err() == nil {
		t.Error("who measures is not told that nobody waits")
	}
	_ = in.Close()
	<-drained
}

// Where there is no terminal, nothing is measured.
func TestProgressWithoutTerminal(t *testing.T) {
	stop := NewProgress(io.Discard).Follow(t.Context(), func(context.Context) Backlog {
		t.Error("measured for nobody")
		return Backlog{}
	}, func() Backlog { return Backlog{} })
	stop()
}
