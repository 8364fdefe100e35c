package mounted

import (
	"slices"
	"testing"

	"github.com/archivefs/archivefs/internal/fusectl"
)

func TestOwnMountsAreThoseOfTheUser(t *testing.T) {
	mounts := []fusectl.Mounted{
		{Dir: "/srv/office", Options: "rw,user_id=0,group_id=0,allow_other"},
		{Dir: "/home/erika/Archive", Options: "rw,user_id=1000,group_id=1000"},
		{Dir: "/home/hans/Archive", Options: "rw,user_id=10000,group_id=1000"},
	}
	for uid, want := range map[int][]string{0: {"/srv/office"}, 1000: {"/home/erika/Archive"}, 1: nil} {
		if got := ownOf(mounts, uid); !slices.Equal(got, want) {
			t.Errorf("user %d: %q, want %q", uid, got, want)
		}
	}
}
