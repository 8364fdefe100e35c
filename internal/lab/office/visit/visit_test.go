//go:build linux

package visit

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	a, b := at("Muster GmbH/Letters/a.txt", "a"), at("Muster GmbH/Letters/b.txt", "b")
	if err := compare(map[document]int{a: 1, b: 2}, map[document]int{a: 1, b: 2}); err != nil {
		t.Error(err)
	}
	err := compare(map[document]int{a: 1}, map[document]int{b: 1})
	if err == nil || !strings.Contains(err.Error(), "lacks Muster GmbH/Letters/a.txt") || !strings.Contains(err.Error(), "b.txt with 1 bytes 1 times, and not 0") {
		t.Error(err)
	}
	if err := compare(map[document]int{a: 1}, map[document]int{a: 2}); err == nil {
		t.Error("a document that is there twice is not noticed")
	}
}
