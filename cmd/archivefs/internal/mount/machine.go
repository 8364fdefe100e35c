package mount

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/metrics"
	"github.com/archivefs/archivefs/internal/network"
	"github.com/archivefs/archivefs/internal/notify"
	"github.com/archivefs/archivefs/internal/power"
)

const (
	// sleepGrace is how long requests in flight have to end by themselves before the machine sleeps.
	sleepGrace = time.Second
	// sleepLimit is how long the machine waits for the end of all requests: less than the 5 s of
	// logind (logind.conf(5), InhibitDelayMaxSec).
	sleepLimit = 3 * time.Second
)

// followMachine lets the mount sleep and wake with the machine, and learn of another network, until end
// is called. The embedded service needs neither.
func (s *session) followMachine(ctx context.Context) (end func()) {
	if s.settings.Embedded {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		if err := power.Watch(ctx, machine{s, ctx, &all}); err != nil {
			s.log.Debugf("the mount does not notice when the machine sleeps: %v", err)
		}
	})
	all.Go(func() {
		if err := network.Watch(ctx, func() { s.reconnect(ctx, "the network has changed") }); err != nil {
			s.log.Debugf("the mount does not notice another network: %v", err)
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// machine is the mount, as the machine sees it.
type machine struct {
	*session
	ctx  context.Context
	work *sync.WaitGroup
}

// Sleep implements power.Sleeper: nobody waits for the service any more.
func (m machine) Sleep() {
	m.log.Debug("the machine is about to sleep")
	ctx, cancel := context.WithTimeout(m.ctx, sleepLimit)
	defer cancel()
	if err := m.client.Pause(ctx, sleepGrace); err != nil {
		m.log.Warnf("the machine goes to sleep with requests in flight: %v", err)
	}
}

// Wake implements power.Sleeper.
func (m machine) Wake() {
	m.client.Resume()
	m.work.Go(func() { m.reconnect(m.ctx, "the machine has woken up") })
}

// reconnect makes connections anew, and asks the service at once.
func (s *session) reconnect(ctx context.Context, why string) {
	s.log.Infof("%s; the archive service is asked at once", why)
	s.client.Reconnect()
	if err := s.fs.Reconnect(ctx); err != nil {
		s.log.Debugf("ask the archive service: %v", err)
	}
}

// notifier tells the person at the desktop what goes wrong, until the session ends. It is nil with --notify none.
func (s *session) notifier(cure string) *notify.Notifier {
	if !s.settings.Notify {
		return nil
	}
	n := notify.New(notify.NewBus(s.showUploads), cure, s.log)
	s.later(n.Close)
	return n
}

// showUploads shows what waits and what failed, in a process of its own that may outlive the mount.
func (s *session) showUploads(token string) {
	program, err := os.Executable()
	if err != nil {
		s.log.Warnf("the uploads cannot be shown: %v", err)
		return
	}
	line := []string{program, "uploads", "show", "--", s.settings.Mountpoint}
	if manager, err := exec.LookPath("systemd-run"); err == nil && os.Getenv("INVOCATION_ID") != "" {
		// Else a browser that begins here would end with the unit of the mount.
		line = slices.Concat([]string{manager, "--user", "--quiet", "--collect", "--setenv=XDG_ACTIVATION_TOKEN=" + token}, line)
	}
	show := exec.Command(line[0], line[1:]...) //nolint:gosec,noctx // our own program, which ends by itself
	// It needs none of the mount's options, which may have secrets.
	show.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "ARCHIVEFS_") })
	if token != "" {
		show.Env = append(show.Env, "XDG_ACTIVATION_TOKEN="+token)
	}
	show.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := show.Start(); err != nil {
		s.log.Warnf("the uploads cannot be shown: %v", err)
		return
	}
	go func() {
		if err := show.Wait(); err != nil {
			s.log.Warnf("archivefs uploads show: %v", err)
		}
	}()
}

// showMetrics serves --metrics, if set, until the session ends.
func (s *session) showMetrics(ctx context.Context) error {
	if s.settings.Metrics == "" {
		return nil
	}
	srv, err := running.ServeMetrics(ctx, s.settings.Metrics, metrics.Source{
		Families: func() []metrics.Family {
			status := s.fs.Status()
			return append(mountFamilies(&status), operationFamily(s.fs.OperationTimes()))
		},
		Ready: func() (bool, string) {
			if away := s.fs.Away(); away != nil {
				return false, "the archive service is away: " + archive.Printable(away.Text)
			}
			return true, ""
		},
	}, s.log)
	if err != nil {
		return err
	}
	s.later(srv.Close)
	return nil
}

// mountFamilies are the metrics of a mount. They contain no names of documents or folders.
func mountFamilies(s *fs.Status) []metrics.Family {
	up := 1.0
	if s.Health == fs.HealthAway {
		up = 0
	}
	all := []metrics.Family{
		running.BuildInfo(s.Version),
		metrics.One(metrics.Gauge, "archivefs_service_up", "Whether the archive service answers (1) or is away (0).", up),
	}
	all = append(all, requestFamilies(s.Requests)...)
	all = append(all, cacheFamilies(&s.Cache)...)
	all = append(all, keptFamilies(s.Kept)...)
	return append(all, uploadFamilies(&s.Uploads)...)
}

// operationFamily are the times of the kernel's requests. If people wait although these are short, they
// wait for something else.
func operationFamily(operations []fs.OperationTimes) metrics.Family {
	f := metrics.Family{
		Name: "archivefs_fuse_duration_seconds", Kind: metrics.Times, Labels: []string{"operation"},
		Help: "Time in which the mount answered requests of the kernel.",
	}
	for i := range operations {
		o := &operations[i]
		f.Rows = append(f.Rows, metrics.Row{Labels: []string{o.Operation}, Times: metrics.Distribution{
			Bounds: fs.OperationBounds(), Counts: o.Times[:], Sum: o.Sum,
		}})
	}
	return f
}

func requestFamilies(requests []archive.OperationStats) []metrics.Family {
	all := []metrics.Family{
		{Name: "archivefs_requests_total", Help: "Requests to the archive service, each attempt."},
		{Name: "archivefs_request_failures_total", Help: "Requests that ended in an error."},
		{Name: "archivefs_request_repetitions_total", Help: "Requests that repeat a failed one."},
		{Name: "archivefs_sent_bytes_total", Help: "Bytes of the bodies of requests."},
		{Name: "archivefs_received_bytes_total", Help: "Bytes of the bodies of answers."},
		{Name: "archivefs_request_wait_seconds", Help: "Time before requests were sent, until a connection was free.", Kind: metrics.Times},
		{Name: "archivefs_request_duration_seconds", Help: "Time from then to the head of the answer.", Kind: metrics.Times},
	}
	for i := range all {
		all[i].Labels = []string{"operation"}
	}
	for i := range requests {
		r := &requests[i]
		for n, value := range []int64{r.Requests, r.Failures, r.Retries, r.Sent, r.Received} {
			all[n].Rows = append(all[n].Rows, metrics.Row{Labels: []string{r.Operation}, Value: float64(value)})
		}
		for n, times := range []metrics.Distribution{{Counts: r.Waits[:], Sum: r.Waited}, {Counts: r.Latency[:], Sum: r.Total}} {
			times.Bounds = archive.LatencyBounds[:]
			family := &all[len(all)-2+n]
			family.Rows = append(family.Rows, metrics.Row{Labels: []string{r.Operation}, Times: times})
		}
	}
	return all
}

func cacheFamilies(c *fs.CacheStatus) []metrics.Family {
	hits := metrics.Family{Name: "archivefs_cache_hits_total", Help: "Look-ups answered without asking the service.", Labels: []string{"cache"}}
	misses := metrics.Family{Name: "archivefs_cache_misses_total", Help: "Look-ups that asked the service, or joined one that did.", Labels: []string{"cache"}}
	entries := metrics.Family{Name: "archivefs_cache_entries", Help: "What is kept: folders' listings, and documents' contents.", Kind: metrics.Gauge, Labels: []string{"cache"}}
	add := func(name string, hit, miss uint64, kept int) {
		hits.Rows = append(hits.Rows, metrics.Row{Labels: []string{name}, Value: float64(hit)})
		misses.Rows = append(misses.Rows, metrics.Row{Labels: []string{name}, Value: float64(miss)})
		entries.Rows = append(entries.Rows, metrics.Row{Labels: []string{name}, Value: float64(kept)})
	}
	for _, l := range []struct {
		name  string
		stats *cache.ListingsStats
	}{{"folders", &c.Folders}, {"documents", &c.Documents}, {"inboxes", &c.Inboxes}} {
		add(l.name, l.stats.Hits+l.stats.Ahead, l.stats.Misses, l.stats.Entries)
	}
	add("content", c.Content.Hits, c.Content.Misses, c.Content.Files)
	return []metrics.Family{
		hits, misses, entries,
		metrics.One(metrics.Gauge, "archivefs_content_cache_bytes", "Bytes of contents that are kept on disk.", float64(c.Content.Bytes)),
		metrics.One(metrics.Gauge, "archivefs_content_cache_limit_bytes", "Most bytes of contents that are kept on disk.", float64(c.Content.Limit)),
	}
}

// keptFamilies are about what is kept on this machine: zeros if nothing is.
func keptFamilies(k *fs.KeptStatus) []metrics.Family {
	if k == nil {
		k = &fs.KeptStatus{}
	}
	return []metrics.Family{
		metrics.By(metrics.Gauge, "archivefs_kept_documents", "Documents that are kept on this machine: here, or still missing or changed since.",
			"state", map[string]int{"here": k.Documents - k.Missing, "missing": k.Missing}),
		metrics.By(metrics.Gauge, "archivefs_kept_bytes", "Bytes of the contents that are kept on this machine: here, or missing, as far as the service tells lengths.",
			"state", map[string]int64{"here": k.Bytes, "missing": k.MissingBytes}),
	}
}

func uploadFamilies(u *fs.UploadStatus) []metrics.Family {
	oldest := time.Time{}
	for i := range u.List {
		if oldest.IsZero() || u.List[i].Changed.Before(oldest) {
			oldest = u.List[i].Changed
		}
	}
	age := 0.0
	if !oldest.IsZero() {
		age = max(time.Since(oldest).Seconds(), 0)
	}
	return []metrics.Family{
		metrics.By(metrics.Gauge, "archivefs_uploads", "Files that the archive does not have: pending ones wait to be sent, failed ones wait for somebody to decide.",
			"state", map[string]int64{fs.StatePending: int64(u.Pending()), "failed": int64(u.Failed()), "sending": u.Sending}),
		metrics.One(metrics.Gauge, "archivefs_upload_age_seconds", "Age of the oldest pending or failed upload, 0 without any.", age),
		metrics.One(metrics.Gauge, "archivefs_spool_bytes", "Bytes of files on this machine that are not archived, local ones included.", float64(u.Bytes)),
	}
}
