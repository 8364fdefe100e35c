package user

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/fs"
)

// statusLines is the status as people see it, with single blanks.
func statusLines(t *testing.T, s *fs.Status) string {
	t.Helper()
	var b strings.Builder
	if err := printStatus(&b, "/mnt", s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

func wantLine(t *testing.T, table, want string) {
	t.Helper()
	if !strings.Contains(table, want+"\n") {
		t.Errorf("no line %q in\n%s", want, table)
	}
}

func TestStatusExplainsHealth(t *testing.T) {
	pending, failed := fs.UploadInfo{State: "pending"}, fs.UploadInfo{State: "failed"}
	for want, s := range map[string]fs.Status{
		"health ok so far: no upload failed, but the service has not answered for 12s":                                                             {Health: fs.HealthOK, Requests: quietFor(100*time.Millisecond, 12700*time.Millisecond)},
		"health ok: the service answers, and no upload failed; it is slow: 2.1s for a request, on average":                                         {Health: fs.HealthOK, Requests: []archive.OperationStats{{Requests: 4, Total: 8400 * time.Millisecond}, {Requests: 1, Total: time.Minute, Sent: 1 << 20}}},
		"health ok: the service answers, and no upload failed":                                                                                     {Health: fs.HealthOK, Requests: quietFor(time.Second)},
		"health away: the service does not answer, or cannot do what it is asked; what is known is shown":                                          {Health: fs.HealthAway},
		"health away: the service refuses the credentials; what is known is shown":                                                                 {Health: fs.HealthAway, Cure: "renew them"},
		"health away: the service does not answer, or cannot do what it is asked; what is known is shown; 1 upload waits":                          withUploads(fs.HealthAway, pending),
		"health away: the service does not answer, or cannot do what it is asked; what is known is shown; 2 uploads wait; 1 upload failed, " + see: withUploads(fs.HealthAway, pending, failed, pending),
		"health away: the service does not answer, or cannot do what it is asked; what is known is shown; 2 uploads failed, " + see:                withUploads(fs.HealthAway, failed, failed),
		"health failing: 1 upload failed and waits for your decision, " + see:                                                                      withUploads(fs.HealthFailing, failed, pending),
		"health failing: 2 uploads failed and wait for your decision, " + see:                                                                      withUploads(fs.HealthFailing, failed, failed),
		"health disk: new files may be refused, because the disk of the state directory is full, read-only or failing":                             {Health: fs.HealthDisk},
		"health failing: 1 upload failed and waits for your decision, " + see + "; and the service has not answered for 12s": {
			Health: fs.HealthFailing, Uploads: fs.UploadStatus{List: []fs.UploadInfo{failed}}, Requests: quietFor(12700 * time.Millisecond),
		},
		"health disk: new files may be refused, because the disk of the state directory is full, read-only or failing; and the service has not answered for 12s": {
			Health: fs.HealthDisk, Requests: quietFor(12700 * time.Millisecond),
		},
		"health new": {Health: "new"},
	} {
		wantLine(t, statusLines(t, &s), want)
	}
	wantLine(t, statusLines(t, &fs.Status{Health: fs.HealthAway, Cure: "renew them"}), "what to do renew them")
	wantLine(t, statusLines(t, &fs.Status{Health: fs.HealthDisk, Disk: "/state: read-only"}), "disk /state: read-only")
}

const see = "see archivefs uploads list /mnt"

// quietFor has requests in flight for which the service has been silent so long.
func quietFor(silent ...time.Duration) (all []archive.OperationStats) {
	for _, d := range silent {
		all = append(all, archive.OperationStats{Operation: "inboxes", Silent: d})
	}
	return all
}

func withUploads(health string, list ...fs.UploadInfo) fs.Status {
	return fs.Status{Health: health, Uploads: fs.UploadStatus{List: list}}
}

func TestStatusCountsInWords(t *testing.T) {
	one := fs.Status{Cache: fs.CacheStatus{
		Content:   cache.ContentStats{Files: 1, Bytes: 5, Limit: 10 << 30, Misses: 1},
		Documents: cache.ListingsStats{Entries: 1, Hits: 1},
	}}
	wantLine(t, statusLines(t, &one), "content cache 1 document, 5 B of 10 GiB; 0 of 1 open from it")
	wantLine(t, statusLines(t, &one), "listings 1 folder known; 1 of 1 look-up from memory")
	some := fs.Status{Cache: fs.CacheStatus{Documents: cache.ListingsStats{Entries: 2, Hits: 5, Ahead: 1, Misses: 3}}}
	wantLine(t, statusLines(t, &some), "listings 2 folders known; 6 of 9 look-ups from memory (66 %)")
	embedded := fs.Status{Cache: fs.CacheStatus{Content: cache.ContentStats{Files: 1, Local: 2, Bytes: 5, Limit: 10 << 30, Hits: 1, Misses: 3}}}
	wantLine(t, statusLines(t, &embedded), "content cache 3 documents (2 in the embedded service's own files, not copied), "+
		"5 B of 10 GiB; 1 of 4 opens from it (25 %)")
	none := fs.Status{}
	wantLine(t, statusLines(t, &none), "content cache 0 documents, 0 B of 0 B; 0 of 0 opens from it")
	wantLine(t, statusLines(t, &none), "listings 0 folders known; 0 of 0 look-ups from memory")
}

func TestStatusShowsUploadsUnderWay(t *testing.T) {
	s := fs.Status{Uploads: fs.UploadStatus{Sending: 1, Bytes: 5 << 20, Local: 2, List: []fs.UploadInfo{
		{ID: "1", State: "pending", Path: "/A/waits.pdf", Size: 1 << 20},
		{ID: "2", State: "pending", Path: "/A/goes.pdf", Size: 4 << 20, Sent: 1 << 20},
		{ID: "3", State: "pending", Path: "/A/went.pdf", Size: 4 << 20, Sent: 4 << 20},
	}}}
	table := statusLines(t, &s)
	wantLine(t, table, "4.0 MiB sent, waiting for the answer /A/went.pdf")
	wantLine(t, table, "uploads 1 being sent, 2 pending, 0 failed, 5.0 MiB on disk")
	wantLine(t, table, "2 files are here alone, temporary or empty")
	wantLine(t, table, "[#####...............] 25 % of 4.0 MiB /A/goes.pdf")
	if strings.Contains(table, "waits.pdf") {
		t.Errorf("an upload that only waits has a bar:\n%s", table)
	}
}

func TestStatusShowsRequests(t *testing.T) {
	r := archive.OperationStats{Operation: "document/list", Requests: 4, Failures: 1, Total: 40 * time.Millisecond, Sent: 0, Received: 2048}
	for range 4 {
		r.Latency.Add(10 * time.Millisecond)
	}
	long := archive.OperationStats{Operation: "inboxes", Requests: 1, Total: time.Minute}
	long.Latency.Add(time.Minute)
	table := statusLines(t, &fs.Status{Requests: []archive.OperationStats{r, long}})
	wantLine(t, table, "traffic 0 B sent, 2.0 KiB received")
	wantLine(t, table, "document/list 4 1 0 0 B 2.0 KiB 10ms 10ms 10ms")
	wantLine(t, table, "inboxes 1 0 0 0 B 0 B 1m0s - -")
}

func TestStatusShowsLastErrors(t *testing.T) {
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.Local)
	s := fs.Status{LastErrors: []fs.Failure{{Time: at, Text: "newer"}, {Time: at.Add(-time.Minute), Text: "older", Mended: at}}}
	table := statusLines(t, &s)
	wantLine(t, table, "last errors 2024-05-06 07:08:09 newer")
	wantLine(t, table, "2024-05-06 07:07:09 older; it succeeded at 2024-05-06 07:08:09")
}

func TestStatusShowsLastRefusals(t *testing.T) {
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.Local)
	table := statusLines(t, &fs.Status{LastRefusals: []fs.Refusal{
		{Time: at, Operation: "remove", Path: "/A/b.txt", Reason: "archived documents are not deleted"},
		{Time: at.Add(-time.Minute), Operation: "mkdir", Path: "/c", Reason: "no"},
	}})
	wantLine(t, table, "last refusals 2024-05-06 07:08:09 remove /A/b.txt: archived documents are not deleted")
	wantLine(t, table, "2024-05-06 07:07:09 mkdir /c: no")
}

// Somebody else than the user of the mount is told nothing about uploads and caches, not even that there
// are none.
func TestStatusForOthersIsPartial(t *testing.T) {
	for health, want := range map[string]string{
		fs.HealthOK:   "health ok: the service answers",
		fs.HealthAway: "health away: the service does not answer, or cannot do what it is asked; what is known is shown",
	} {
		table := statusLines(t, &fs.Status{Health: health, Partial: true})
		wantLine(t, table, want)
		wantLine(t, table, "the rest is known to the user whose mount it is: uploads, errors, requests and caches")
		for _, untold := range []string{"failed", "cache ", "listings", "traffic"} {
			if strings.Contains(table, untold) {
				t.Errorf("it tells of %q:\n%s", untold, table)
			}
		}
	}
	w := &watch{last: time.Now()}
	if got := w.pace(time.Now(), &fs.Status{Partial: true}); got != "Ctrl-C ends this" {
		t.Errorf("--watch says %q", got)
	}
}

// The second status says what happened since the first.
func TestStatusWatchTellsThePace(t *testing.T) {
	w := &watch{}
	var s fs.Status
	if err := json.Unmarshal([]byte(`{"requests": [{"operation": "inboxes", "requests": 2, "sent": 0, "received": 1024}]}`), &s); err != nil {
		t.Fatal(err)
	}
	start := s.Mounted
	if got := w.pace(start.AddDate(0, 0, 1), &s); got != "Ctrl-C ends this" {
		t.Errorf("the first says %q", got)
	}
	s.Requests[0].Requests, s.Requests[0].Received = 12, 5120
	if got, want := w.pace(start.AddDate(0, 0, 1).Add(2e9), &s), "5 requests, 0 B sent, 2.0 KiB received a second"; got != want {
		t.Errorf("the second says %q, want %q", got, want)
	}
	var out bytes.Buffer
	if command.IsTerminal(&out) {
		t.Error("a buffer is taken for a terminal")
	}
}
