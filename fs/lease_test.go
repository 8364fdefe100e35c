package fs

import (
	"testing"
	"time"
)

// The kernel is told of a directory only where it may have names of it.
func TestLease(t *testing.T) {
	var from, to lease
	if from.runs() {
		t.Error("it has names that it was never told")
	}
	from.extendTo(&to)
	from.extend(0)
	if from.runs() || to.runs() {
		t.Error("it has a name that it may not keep")
	}
	from.extend(time.Hour)
	from.extend(time.Nanosecond)
	if !from.runs() {
		t.Error("a name that it may keep for an hour is forgotten")
	}
	from.extendTo(&to)
	if !to.runs() {
		t.Error("a name was moved there, and is forgotten")
	}
}
