package admin

import (
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
)

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"": "0001-01-01 00:00:00", "90d": "2026-05-30 12:00:00", "12h": "2026-03-02 00:00:00", "2026-03-01": "2026-03-02 00:00:00",
		"2027-12-31": "2028-01-01 00:00:00", "2026-02-28": "", "0d": "", "-1h": "", "0s": "", "500ms": "", "d": "", "1e3d": "", "tomorrow": "",
	} {
		got, err := expiry(text, now)
		if (err != nil) != (want == "") || err == nil && got.Format(time.DateTime) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestKeyEnd(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC)
	for _, tt := range []struct {
		key  server.Key
		want string // behind the moment
	}{
		{server.Key{Valid: true}, ""},
		{server.Key{Valid: true, Expires: now}, ", in 0 s"},
		{server.Key{Valid: true, Expires: now.Add(119 * time.Second)}, ", in 119 s"},
		{server.Key{Valid: true, Expires: now.Add(2 * time.Minute)}, ", in 2 min"},
		{server.Key{Valid: true, Expires: now.Add(2 * time.Hour)}, ", in 2 h"},
		{server.Key{Valid: true, Expires: now.Add(48 * time.Hour)}, ", in 2 days"},
		{server.Key{Expires: now.Add(-3 * time.Second)}, ", 3 s ago"},
		{server.Key{Expires: now.Add(time.Second)}, ", 0 s ago"}, // asked a moment before
		{server.Key{Revoked: now.Add(-5 * time.Minute), Expires: now.Add(time.Hour)}, ", 5 min ago"},
	} {
		at := tt.key.Expires
		if !tt.key.Revoked.IsZero() {
			at = tt.key.Revoked
		}
		want := moment(at) + tt.want
		if at.IsZero() {
			want = "never"
		}
		if got := keyEnd(&tt.key, now); got != want {
			t.Errorf("%+v ends %q, want %q", tt.key, got, want)
		}
	}
	berlin := time.Date(2026, 7, 1, 14, 0, 5, 0, time.FixedZone("", 7200))
	if got, err := time.Parse("2006-01-02 15:04:05 -07:00", moment(berlin)); err != nil || !got.Equal(berlin) {
		t.Errorf("%v is told as %v (%v)", berlin, got, err)
	}
}
