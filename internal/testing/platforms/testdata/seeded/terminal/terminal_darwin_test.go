package terminal

import "testing"

func TestRequest(t *testing.T) {
	if undefined == 0 {
		t.Fatal()
	}
}
