// Package report makes pages of results: tables, plots, and the page docs/benchmarks/README.md
// around them. The only numbers that it knows by itself are the targets.
package report
