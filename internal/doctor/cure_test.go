package doctor_test

import (
	"net"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/doctor"
)

func TestCureRepeatsNothingOfTheError(t *testing.T) {
	for want, err := range map[string]error{
		"check --base-url and the network":                                                           &archive.Error{Kind: archive.KindUnreachable, Err: &net.DNSError{Name: "nowhere.example", IsNotFound: true}},
		"check the API key, and the user with password or the Cloud-ID that go with it":              &archive.Error{Kind: archive.KindUnauthorized, Proxy: "http://proxy:3128"},
		"check --proxy (none for a service that is reached without one), --base-url and the network": &archive.Error{Kind: archive.KindUnreachable, Proxy: "http://proxy:3128"},
	} {
		if got := doctor.Cure("https://nowhere.example/api/v2", err); got != want {
			t.Errorf("of %v: got %q, want %q", err, got, want)
		}
	}
}
