package doctor_test

import (
	"net"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/doctor"
)

func TestCureOfANameThatIsNotKnown(t *testing.T) {
	err := &archive.Error{Kind: archive.KindUnreachable, Err: &net.DNSError{Name: "nowhere.example", IsNotFound: true}}
	want := "no host of the name nowhere.example is known: check --base-url and the network"
	if got := doctor.Cure("https://nowhere.example/api/v2", err); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
