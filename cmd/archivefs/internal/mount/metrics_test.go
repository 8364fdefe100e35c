package mount

import (
	"fmt"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/metrics"
)

// rows are the values of a family, with their labels.
func rows(all []metrics.Family, name string) (text string) {
	for _, f := range all {
		for i := range f.Rows {
			if f.Name == name {
				text += fmt.Sprintf("%s %v;", strings.Join(f.Rows[i].Labels, ","), f.Rows[i].Value)
			}
		}
	}
	return text
}

// What is being sent is not pending as well.
func TestUploadsAreCountedOnce(t *testing.T) {
	waits := fs.UploadInfo{State: fs.StatePending}
	s := fs.Status{Uploads: fs.UploadStatus{Sending: 1, List: []fs.UploadInfo{waits, {State: "failed"}, waits, waits}}}
	if got, want := rows(mountFamilies(&s), "archivefs_uploads"), "failed 1;pending 2;sending 1;"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMetricsOfWhatIsKept(t *testing.T) {
	for want, kept := range map[string]*fs.KeptStatus{
		"here 0;missing 0;|here 0;missing 0;":    nil,
		"here 38;missing 2;|here 500;missing 7;": {Count: fs.KeptCount{Documents: 40, Missing: 2, Bytes: 500, MissingBytes: 7}},
	} {
		all := mountFamilies(&fs.Status{Kept: kept})
		if got := rows(all, "archivefs_kept_documents") + "|" + rows(all, "archivefs_kept_bytes"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
