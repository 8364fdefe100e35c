// Package metrics serves counters to Prometheus, and whether the program is alive and ready, at an
// address that the user chose. It holds no counters: each scrape collects them anew.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
