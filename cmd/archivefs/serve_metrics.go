package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/metrics"
	"github.com/archivefs/archivefs/internal/server"
)

// showMetrics answers at an address, if one is given, until what it returns is called.
func (r *served) showMetrics(ctx context.Context, address string) (hide func() error, err error) {
	if address == "" {
		return func() error { return nil }, nil
	}
	srv, err := serveMetrics(ctx, address, metrics.Source{
		Families: func() []metrics.Family { return r.families(ctx) },
		Ready: func() (bool, string) {
			if err := r.server.Ready(ctx); err != nil {
				return false, err.Error()
			}
			return true, ""
		},
	}, r.manager.log)
	if err != nil {
		return nil, err
	}
	return srv.Close, nil
}

// families is what a service does as Prometheus has it. Names of users, documents and folders
// are in none of it.
func (r *served) families(ctx context.Context) []metrics.Family {
	ready := 1.0
	if r.server.Ready(ctx) != nil {
		ready = 0
	}
	all := []metrics.Family{
		buildInfo(version()),
		metrics.One(metrics.Gauge, "archivefs_server_ready", "Whether requests can be answered (1) or not (0).", ready),
	}
	if r.certificate != nil {
		all = append(all, metrics.One(metrics.Gauge, "archivefs_server_certificate_expiry_timestamp_seconds",
			"When the certificate ends, in seconds since 1970.", float64(r.certificate.expiry().Unix())))
	}
	stats := r.server.Stats(ctx)
	all = append(all, operationFamilies(stats.Operations)...)
	all = append(all, loadFamilies(&stats)...)
	return append(all, databaseFamilies(&stats)...)
}

func operationFamilies(operations []server.OperationStats) []metrics.Family {
	labels := []string{"method", "route"}
	requests := metrics.Family{Name: "archivefs_server_requests_total", Help: "Requests that were answered, by the class of their status.", Labels: append(labels, "status")}
	received := metrics.Family{Name: "archivefs_server_received_bytes_total", Help: "Bytes of the bodies of requests.", Labels: labels}
	sent := metrics.Family{Name: "archivefs_server_sent_bytes_total", Help: "Bytes of the bodies of answers.", Labels: labels}
	times := metrics.Family{Name: "archivefs_server_request_duration_seconds", Help: "Time from the head of a request to the end of its answer.", Kind: metrics.Times, Labels: labels}
	for i := range operations {
		o := &operations[i]
		of := []string{cmp.Or(o.Method, "other"), cmp.Or(o.Route, "other")}
		for class, n := range o.Statuses[1:] {
			requests.Rows = append(requests.Rows, metrics.Row{Labels: append(slices.Clone(of), fmt.Sprintf("%dxx", class+2)), Value: float64(n)})
		}
		received.Rows = append(received.Rows, metrics.Row{Labels: of, Value: float64(o.Received)})
		sent.Rows = append(sent.Rows, metrics.Row{Labels: of, Value: float64(o.Sent)})
		times.Rows = append(times.Rows, metrics.Row{Labels: of, Times: metrics.Distribution{
			Bounds: archive.LatencyBounds[:], Counts: o.Latency[:], Sum: o.Total,
		}})
	}
	return []metrics.Family{requests, received, sent, times}
}

func loadFamilies(s *server.Stats) []metrics.Family {
	return []metrics.Family{
		reasons("archivefs_server_refused_uploads_total", "Uploads that were not taken, by the problem that was answered.", s.Refused),
		reasons("archivefs_server_denied_total", "Requests that were not let in, or not to what they asked for, by the reason in the log.", s.Denied),
		metrics.One(metrics.Gauge, "archivefs_server_folders", "Folders, mandators and inboxes included, as they were counted in the last minutes.", float64(s.Folders)),
		metrics.One(metrics.Gauge, "archivefs_server_documents", "Documents, as they were counted in the last minutes.", float64(s.Documents)),
		metrics.One(metrics.Gauge, "archivefs_server_requests_in_flight", "Requests under way.", float64(s.Requests)),
		metrics.One(metrics.Gauge, "archivefs_server_uploads_in_flight", "Uploads under way.", float64(s.Uploads)),
		metrics.One(metrics.Gauge, "archivefs_server_requests_waiting", "Requests that wait for their turn.", float64(s.Waiting)),
	}
}

func reasons(name, help string, counts map[string]int64) metrics.Family {
	f := metrics.Family{Name: name, Help: help, Labels: []string{"reason"}}
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		f.Rows = append(f.Rows, metrics.Row{Labels: []string{reason}, Value: float64(counts[reason])})
	}
	return f
}

func databaseFamilies(s *server.Stats) []metrics.Family {
	connections := metrics.Family{Name: "archivefs_server_database_connections", Help: "Connections to the database.", Kind: metrics.Gauge, Labels: []string{"pool", "state"}}
	waits := metrics.Family{Name: "archivefs_server_database_waits_total", Help: "How often a connection was waited for.", Labels: []string{"pool"}}
	waited := metrics.Family{Name: "archivefs_server_database_wait_seconds_total", Help: "How long connections were waited for.", Labels: []string{"pool"}}
	for _, pool := range slices.Sorted(maps.Keys(s.Databases)) {
		d := s.Databases[pool]
		connections.Rows = append(connections.Rows,
			metrics.Row{Labels: []string{pool, "used"}, Value: float64(d.InUse)}, metrics.Row{Labels: []string{pool, "idle"}, Value: float64(d.Idle)})
		waits.Rows = append(waits.Rows, metrics.Row{Labels: []string{pool}, Value: float64(d.WaitCount)})
		waited.Rows = append(waited.Rows, metrics.Row{Labels: []string{pool}, Value: d.WaitDuration.Seconds()})
	}
	return []metrics.Family{connections, waits, waited}
}
