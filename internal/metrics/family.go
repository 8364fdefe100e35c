// Package metrics shows counters to Prometheus, and whether a program is alive and ready,
// to whoever asks at an address that the program's user has chosen. It takes no part in what
// it measures, and holds no counter itself: each question takes them anew.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Kind says what a family's values are.
type Kind int

const (
	// Counter only grows, as long as the program runs.
	Counter Kind = iota
	// Gauge goes up and down.
	Gauge
	// Times counts how long something took.
	Times
)

// Family is one metric with a row for each combination of its labels' values. Its name
// follows the conventions of Prometheus: base units, _total for counters.
type Family struct {
	Name, Help string
	Kind       Kind
	Labels     []string // none where there is but one row
	Rows       []Row
}

// Row is one value of a metric.
type Row struct {
	Labels []string // the values of the family's labels, in their order
	Value  float64
	Times  Distribution // of the kind Times, in place of Value
}

// Distribution is how long something took: Counts[i] times at most Bounds[i], and longer than
// the bound before it; the last of Counts is for what took longer than all bounds.
type Distribution struct {
	Bounds []time.Duration
	Counts []int64
	Sum    time.Duration
}

// One is the family of a metric without a label.
func One(kind Kind, name, help string, value float64) Family {
	return Family{Name: name, Help: help, Kind: kind, Rows: []Row{{Value: value}}}
}

// send gives all rows of a family to Prometheus.
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

// cumulative counts as Prometheus does: each bucket has what is in those before it, too.
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
