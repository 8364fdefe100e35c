//go:build linux

package lab

import (
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/lab/faultlab/writer"
)

// What a process says after a long line is heard, too.
func TestListen(t *testing.T) {
	events := make(chan writer.Event, 3)
	listen(strings.NewReader(`{"Mark":"opened"}`+"\n"+strings.Repeat("x", 1<<20)+"\n"+`{"Mark":"done"}`+"\n"+`{"Mark":"cut`), events)
	close(events)
	var got []writer.Mark
	for e := range events {
		got = append(got, e.Mark)
	}
	if len(got) != 2 || got[0] != "opened" || got[1] != "done" {
		t.Errorf("heard %q", got)
	}
}
