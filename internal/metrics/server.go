// Package metrics serves counters to Prometheus, and whether the program is alive and ready, at an
// address that the user chose. It holds no counters: each scrape collects them anew.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Kind is the type of a family's values.
type Kind int

const (
	// Counter only grows while the program runs.
	Counter Kind = iota
	// Gauge goes up and down.
	Gauge
	// Times is a distribution of durations.
	Times
)

// Family is one metric with a row for each combination of its labels' values. Its name
// follows the conventions of Prometheus: base units, _total for counters.
type Family struct {
	Name, Help string
	Kind       Kind
	Labels     []string // none if there is only one row
	Rows       []Row
}

// Row is one value of a metric.
type Row struct {
	Labels []string // the values of the family's labels, in their order
	Value  float64
	Times  Distribution // of the kind Times, instead of Value
}

// Distribution is a histogram of durations: Counts[i] were at most Bounds[i], and longer than the
// bound before it; the last of Counts is for those longer than all bounds.
type Distribution struct {
	Bounds []time.Duration
	Counts []int64
	Sum    time.Duration
}

// One is a family without labels.
func One(kind Kind, name, help string, value float64) Family {
	return Family{Name: name, Help: help, Kind: kind, Rows: []Row{{Value: value}}}
}

// By is a family with one label, with a row for each of its values.
func By[N int | int64 | float64](kind Kind, name, help, label string, values map[string]N) Family {
	f := Family{Name: name, Help: help, Kind: kind, Labels: []string{label}}
	for _, value := range slices.Sorted(maps.Keys(values)) {
		f.Rows = append(f.Rows, Row{Labels: []string{value}, Value: float64(values[value])})
	}
	return f
}

// send sends all rows of a family to Prometheus.
func (f *Family) send(out chan<- prometheus.Metric) {
	desc := prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
	for i := range f.Rows {
		out <- f.metric(desc, &f.Rows[i])
	}
}

func (f *Family) metric(desc *prometheus.Desc, r *Row) prometheus.Metric {
	var m prometheus.Metric
	var err error
	switch f.Kind {
	case Times:
		count, buckets := r.Times.cumulative()
		m, err = prometheus.NewConstHistogram(desc, count, r.Times.Sum.Seconds(), buckets, r.Labels...)
	case Gauge:
		m, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, r.Value, r.Labels...)
	case Counter:
		m, err = prometheus.NewConstMetric(desc, prometheus.CounterValue, r.Value, r.Labels...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

// cumulative counts as Prometheus does: each bucket includes those before it.
func (d *Distribution) cumulative() (count uint64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(d.Bounds))
	for i, n := range d.Counts {
		count += uint64(max(n, 0))
		if i < len(d.Bounds) {
			buckets[d.Bounds[i].Seconds()] = count
		}
	}
	return count, buckets
}

// Source is the source of the metrics.
type Source struct {
	// Families returns all current values.
	Families func() []Family
	// Ready reports whether the program can do its work, else why not.
	Ready func() (bool, string)
}

// Server answers until it is closed.
type Server struct {
	listener net.Listener
	web      *http.Server
	ended    chan error
}

// unixPrefix marks the path of a socket.
const unixPrefix = "unix:"

// CheckAddress returns an error unless address is HOST:PORT or unix:PATH.
func CheckAddress(address string) error {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%q is no absolute path of a socket", path)
		}
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("%q is no address; write for example 127.0.0.1:9464, or unix:/run/user/1000/archivefs.sock", address)
	}
	return nil
}

// Serve answers at address: /metrics in the text format of Prometheus, /healthz while the program lives, /readyz with
// 200 or 503 and the reason. Only the user may open a socket; one of a dead program is replaced.
func Serve(ctx context.Context, address string, source Source) (*Server, error) {
	ln, err := listen(ctx, address)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: ln, ended: make(chan error, 1), web: &http.Server{
		Handler: handler(source), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
	}}
	go func() { s.ended <- s.web.Serve(ln) }()
	return s, nil
}

// Address is the address at which it answers.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close ends the server and cuts off answers in progress.
func (s *Server) Close() error {
	err := s.web.Close()
	if served := <-s.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	path, ok := strings.CutPrefix(address, unixPrefix)
	if !ok {
		return lc.Listen(ctx, "tcp", address)
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	ln, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// removeStale removes a socket on which nobody listens.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s is there, and no socket", path)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another program answers at %s", path), c.Close())
	}
	return os.Remove(path)
}

func handler(source Source) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector(source.Families), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ready, why := source.Ready(); !ready {
			say(w, http.StatusServiceUnavailable, why)
			return
		}
		say(w, http.StatusOK, "ok")
	})
	return mux
}

// say answers with one line. The client may be gone.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// collector collects all families at each scrape. It describes none of them, so that rows may come and go.
type collector func() []Family

// Describe implements prometheus.Collector.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	families := c()
	for i := range families {
		families[i].send(out)
	}
}
