package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/config"
)

// wantUsage fails the test unless err is a usage error that names the option.
func wantUsage(t *testing.T, err error, option string) {
	t.Helper()
	var usage *config.UsageError
	if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "--"+option+":") {
		t.Fatalf("got error %v, want a usage error that names --%s", err, option)
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "500K": 500_000, "2MiB": 2 << 20, "500KB/s": -1, "1": -1} {
		n, err := config.Rate("upload-limit", text)
		wrong := fmt.Sprintf("--upload-limit: %q is no rate; write for example 500K or 2MiB", text)
		if want < 0 && (err == nil || err.Error() != wrong) || want >= 0 && (n != want || err != nil) {
			t.Errorf("%q is %d, %v", text, n, err)
		}
	}
}

func TestSize(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"1024", 1024, true},
		{"1023", 0, false},
		{"10", 0, false},
		{" 10 ", 0, false},
		{"4096", 4096, true},
		{"1B", 1, true},
		{"512MB", 512_000_000, true},
		{"512MiB", 512 << 20, true},
		{"10GiB", 10 << 30, true},
		{"10 gib", 10 << 30, true},
		{"1.5GiB", 3 << 29, true},
		{"4EiB", 1 << 62, true},
		{"5EiB", 0, false},
		{"99999999999999999999", 0, false},
		{"", 0, false},
		{"-1", 0, false},
		{"GiB", 0, false},
		{"10 apples", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := config.Size("cache-size", tt.text)
			if !tt.ok {
				wantUsage(t, err, "cache-size")
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("got %d, %v; want %d", got, err, tt.want)
			}
		})
	}
}

func TestDate(t *testing.T) {
	zone := time.FixedZone("east", 2*60*60)
	tests := []struct {
		text string
		want time.Time
		ok   bool
	}{
		{"", time.Time{}, true},
		{"2024-12-31", time.Date(2024, 12, 31, 0, 0, 0, 0, zone), true},
		{"2024-12-31T08:09:10", time.Date(2024, 12, 31, 8, 9, 10, 0, zone), true},
		{"2024-12-31T08:09:10Z", time.Date(2024, 12, 31, 8, 9, 10, 0, time.UTC), true},
		{"2024-12-31T08:09:10-03:00", time.Date(2024, 12, 31, 11, 9, 10, 0, time.UTC), true},
		{"2024-02-30", time.Time{}, false},
		{"31.12.2024", time.Time{}, false},
		{"yesterday", time.Time{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := config.Date("created-after", tt.text, zone)
			if !tt.ok {
				wantUsage(t, err, "created-after")
				return
			}
			if err != nil || !got.Equal(tt.want) {
				t.Fatalf("got %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestZone(t *testing.T) {
	tests := []struct {
		text, want string
		ok         bool
	}{
		{"", time.Local.String(), true},
		{"local", time.Local.String(), true},
		{"Local", time.Local.String(), true},
		{"UTC", "UTC", true},
		{"Europe/Berlin", "Europe/Berlin", true},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "CET-1CEST,M3.5.0,M10.5.0/3", true},
		{"<+0330>-3:30", "<+0330>-3:30", true},
		{"CET-1CEST,M3.5.0,M13.5.0", "", false},
		{"CET-1CEST,", "", false},
		{"CET-1\nUTC0", "", false},
		{"Europe/Berlin2", "", false},
		{"Europe/Nowhere", "", false},
		{"../../etc/passwd", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := config.Zone("time-zone", tt.text)
			if !tt.ok {
				wantUsage(t, err, "time-zone")
				return
			}
			if err != nil || got.String() != tt.want {
				t.Fatalf("got %v, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// A rule of tzset(3) has its summer time, as systems without a list of zones write it.
func TestZoneByRule(t *testing.T) {
	for text, want := range map[string][2]string{
		"CET-1CEST,M3.5.0,M10.5.0/3":   {"2024-01-15T12:00:00+01:00", "2024-07-15T12:00:00+02:00"},
		"EST5EDT,M3.2.0,M11.1.0":       {"2024-01-15T12:00:00-05:00", "2024-07-15T12:00:00-04:00"},
		"AEST-10AEDT,M10.1.0,M4.1.0/3": {"2024-01-15T12:00:00+11:00", "2024-07-15T12:00:00+10:00"},
		"<+0330>-3:30":                 {"2024-01-15T12:00:00+03:30", "2024-07-15T12:00:00+03:30"},
		"UTC0":                         {"2024-01-15T12:00:00Z", "2024-07-15T12:00:00Z"},
	} {
		zone, err := config.Zone("time-zone", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, month := range []time.Month{time.January, time.July} {
			if got := time.Date(2024, month, 15, 12, 0, 0, 0, zone).Format(time.RFC3339); got != want[i] {
				t.Errorf("%s: %s, want %s", text, got, want[i])
			}
		}
	}
}

func TestLocalZone(t *testing.T) {
	tests := []struct {
		tz, known, want string // what the standard library makes of TZ, and what is made of that
		ok              bool
	}{
		{"", "UTC", "UTC", true},
		{"UTC", "UTC", "UTC", true},
		{":UTC", "UTC", "UTC", true},
		{"Europe/Berlin", "Europe/Berlin", "Europe/Berlin", true},
		{"/etc/localtime", "Europe/Berlin", "Europe/Berlin", true},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "UTC", "CET-1CEST,M3.5.0,M10.5.0/3", true},
		{"Europe/Berln", "UTC", "UTC", false},
		{"/nowhere", "UTC", "UTC", false},
	}
	for _, tt := range tests {
		t.Run(tt.tz, func(t *testing.T) {
			defer func(was *time.Location) { time.Local = was }(time.Local)
			t.Setenv("TZ", tt.tz)
			var err error
			if time.Local, err = time.LoadLocation(tt.known); err != nil {
				t.Fatal(err)
			}
			if err := config.LocalZone(); (err == nil) != tt.ok || time.Local.String() != tt.want {
				t.Errorf("the zone is %s, and the error %v; want %s", time.Local, err, tt.want)
			}
		})
	}
}

func TestList(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{" , ,", nil},
		{"a", []string{"a"}},
		{"a,b", []string{"a", "b"}},
		{" Kunde , Straße 5,,b ", []string{"Kunde", "Straße 5", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if got := config.List(tt.text); !slices.Equal(got, tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSecretFile(t *testing.T) {
	tests := []struct {
		name, content, want string
		ok                  bool
	}{
		{"plain", "geheim", "geheim", true},
		{"newline", "geheim\n", "geheim", true},
		{"carriage return and newline", "geheim\r\n", "geheim", true},
		{"one newline only", "geheim\n\n", "geheim\n", true},
		{"blanks count", " ge heim \n", " ge heim ", true},
		{"empty", "", "", false},
		{"only a newline", "\n", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := config.SecretFile("api-key-file", path)
			if !tt.ok {
				wantUsage(t, err, "api-key-file")
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestSecretFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "missing"), dir} {
		_, err := config.SecretFile("password-file", path)
		wantUsage(t, err, "password-file")
		if !strings.Contains(err.Error(), path) {
			t.Errorf("the error %q does not name the file %s", err, path)
		}
	}
}
