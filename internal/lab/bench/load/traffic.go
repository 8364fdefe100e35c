//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// request makes the next request. The source is that of one client.
type request func(ctx context.Context, r *rand.Rand) (*http.Request, error)

// operation is a kind of requests.
type operation struct {
	name string
	next request
}

// result is what was measured of an operation.
type result struct {
	operation   string
	documents   int
	connections int
	took        time.Duration
	latencies   []time.Duration // ascending
	bytes       int64           // of bodies, both ways
}

func (r result) perSecond() float64 { return float64(len(r.latencies)) / r.took.Seconds() }

func (r result) megabytes() float64 { return float64(r.bytes) / 1e6 / r.took.Seconds() }

// quantile is the latency that a share of all requests kept within.
func (r result) quantile(share float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[min(len(r.latencies)-1, int(share*float64(len(r.latencies))))]
}

// measure has clients ask for a while, after a fifth of that to warm up.
func measure(ctx context.Context, op operation, connections int, each time.Duration) (result, error) {
	if _, err := drive(ctx, op, connections, each/5); err != nil {
		return result{}, err
	}
	return drive(ctx, op, connections, each)
}

func drive(ctx context.Context, op operation, connections int, each time.Duration) (result, error) {
	all := result{operation: op.name, connections: connections}
	transport := &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	began := time.Now()
	for range connections {
		wg.Go(func() {
			one, err := ask(ctx, client, op, began.Add(each))
			mu.Lock()
			defer mu.Unlock()
			all.latencies = append(all.latencies, one.latencies...)
			all.bytes += one.bytes
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	all.took = time.Since(began)
	slices.Sort(all.latencies)
	return all, failed
}

// ask is one client, until a time. It asks once in any case.
func ask(ctx context.Context, client *http.Client, op operation, until time.Time) (result, error) {
	var one result
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // it chooses documents
	buffer := make([]byte, 64<<10)
	for first := true; first || time.Now().Before(until); first = false {
		r, err := op.next(ctx, random)
		if err != nil {
			return one, err
		}
		began := time.Now()
		answer, err := client.Do(r)
		if err != nil {
			return one, err
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, answer.Body, buffer)
		one.latencies = append(one.latencies, time.Since(began))
		one.bytes += n + max(r.ContentLength, 0)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return one, err
		}
		if answer.StatusCode != http.StatusOK {
			return one, fmt.Errorf("%s %s: %s", r.Method, r.URL.Path, answer.Status)
		}
	}
	return one, nil
}
