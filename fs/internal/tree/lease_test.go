package tree

import (
	"testing"
	"time"
)

// The kernel is told of a directory only where it may have names of it.
func TestLease(t *testing.T) {
	var from, to lease
	if from.Runs() {
		t.Error("it has names that it was never told")
	}
	from.ExtendTo(&to)
	from.Extend(0)
	if from.Runs() || to.Runs() {
		t.Error("it has a name that it may not keep")
	}
	from.Extend(time.Hour)
	from.Extend(time.Nanosecond)
	if !from.Runs() {
		t.Error("a name that it may keep for an hour is forgotten")
	}
	from.ExtendTo(&to)
	if !to.Runs() {
		t.Error("a name was moved there, and is forgotten")
	}
}
