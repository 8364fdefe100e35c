package seeded

import "testing"

func TestPrintf(t *testing.T) {
	t.Errorf("%d", "a word")
}
