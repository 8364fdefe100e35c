package user

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/fs"
)

// What the mount does not have any more is archived if there is a receipt of it, and never only because it
// is missing.
func TestOutcomesOfUploads(t *testing.T) {
	const receipt = `{"time":"2026-03-20T08:07:52Z","upload":"1","path":"a.txt","size":1,"sha256":"","document":7}` + "\n"
	up := fs.UploadInfo{ID: "1", State: fs.StatePending, Path: "a.txt"}
	as := func(edit func(*fs.UploadInfo)) fs.UploadStatus {
		u := up
		edit(&u)
		return fs.UploadStatus{List: []fs.UploadInfo{u}}
	}
	const archived = "archived"
	tests := map[string]struct {
		receipts []string // before it is sent, and after it
		asked    []fs.Status
		want     string // empty: none yet
	}{
		"it is being sent":             {nil, []fs.Status{{Uploads: as(func(*fs.UploadInfo) {})}}, ""},
		"it has a receipt":             {[]string{"", receipt}, []fs.Status{{}}, archived},
		"its receipt is not there yet": {nil, []fs.Status{{Uploads: fs.UploadStatus{Sending: 1}}, {Uploads: fs.UploadStatus{Sending: 1}}}, ""},
		"it was confirmed just now":    {nil, []fs.Status{{}}, ""},
		"its receipt is an earlier one": {
			[]string{receipt, ""},
			[]fs.Status{{}, {}},
			"not sent: it was removed, or written again, meanwhile",
		},
		"it was removed":                     {nil, []fs.Status{{}, {}}, "not sent: it was removed, or written again, meanwhile"},
		"it failed":                          {nil, []fs.Status{{Uploads: as(func(u *fs.UploadInfo) { u.State, u.Error = "failed", "no" })}}, "failed: no"},
		"it waits":                           {nil, []fs.Status{{Uploads: as(func(u *fs.UploadInfo) { u.Waits, u.Error = true, "busy" })}}, "pending: busy"},
		"it was renamed to a temporary name": {nil, []fs.Status{{Uploads: fs.UploadStatus{Locals: []fs.UploadInfo{{ID: "1", State: fs.StateLocal, Error: "why"}}}}}, "local: why"},
		"another one waits for a service that is away": {
			nil,
			[]fs.Status{{Health: fs.HealthAway, Uploads: fs.UploadStatus{List: []fs.UploadInfo{up, {ID: "2", State: fs.StatePending, Waits: true}}}}},
			"pending: the service does not answer, or cannot do what it is asked",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			add := func(text string) {
				f, err := os.OpenFile(mounted.ReceiptsOf(state), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err == nil {
					_, err = f.WriteString(text)
				}
				if err != nil {
					t.Fatal(err)
				}
				_ = f.Close()
			}
			o := new(outcomes)
			for i, text := range append(tt.receipts, "", "")[:2] {
				if add(text); i == 0 {
					o = outcomesAt(filepath.Join(state, "mnt"), state)
				}
			}
			var got map[string]outcome
			for i := range tt.asked {
				var err error
				if got, err = o.of(&tt.asked[i], []fs.UploadInfo{up}); err != nil {
					t.Fatal(err)
				}
			}
			want := map[string]outcome{}
			if tt.want != "" {
				want[up.ID] = outcome{tt.want, tt.want == archived}
			}
			if !maps.Equal(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
