package user

import "testing"

// Of several pages each is that of a mount point.
func TestAddressesOfPagesNameTheirMounts(t *testing.T) {
	const address = "http://127.0.0.1:1/?token=T"
	for several, want := range map[bool]string{false: address, true: address + "  /mnt/a\\x1b"} {
		if got := addressLine(address, "/mnt/a\x1b", several); got != want {
			t.Errorf("several: %t: %q, want %q", several, got, want)
		}
	}
}
