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

// Family is one metric with a row for each value of its label. Its name follows the
// conventions of Prometheus: base units, _total for counters.
type Family struct {
	Name, Help string
	Kind       Kind
	Label      string // empty where there is but one row
	Rows       []Row
}

// Row is one value of a metric.
type Row struct {
	Label string
	Value float64
	Times Distribution // of the kind Times, in place of Value
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
	var labels []string
	if f.Label != "" {
		labels = []string{f.Label}
	}
	desc := prometheus.NewDesc(f.Name, f.Help, labels, nil)
	for i := range f.Rows {
		r := &f.Rows[i]
		var values []string
		if f.Label != "" {
			values = []string{r.Label}
		}
		out <- f.metric(desc, r, values)
	}
}

func (f *Family) metric(desc *prometheus.Desc, r *Row, labels []string) prometheus.Metric {
	var m prometheus.Metric
	var err error
	switch f.Kind {
	case Times:
		count, buckets := r.Times.cumulative()
		m, err = prometheus.NewConstHistogram(desc, count, r.Times.Sum.Seconds(), buckets, labels...)
	case Gauge:
		m, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, r.Value, labels...)
	case Counter:
		m, err = prometheus.NewConstMetric(desc, prometheus.CounterValue, r.Value, labels...)
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
