package seeded_test

import (
	"testing"

	"example.org/seeded"
	"example.org/seeded/say"
)

func TestOutside(t *testing.T) {
	say.Sayf("%d", seeded.Lines(), "more")
}
