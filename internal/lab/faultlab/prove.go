//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/lab"
	"github.com/archivefs/archivefs/internal/lab/faultlab/mutation"
)

const (
	// proofRuns is how many directed histories may pass before a mutation must be noticed.
	proofRuns = 400
	// idleRuns is how many show that one which no promise rests on goes unnoticed.
	idleRuns = 40
)

// prove breaks archivefs in each known way and prints how the lab notices; ok says that it
// noticed all that a promise rests on, and found nothing wrong with the program as it is.
func (l *laboratory) prove(ctx context.Context) (ok bool, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return false, err
	}
	whole, err := l.bench(ctx, "archivefs")
	if err != nil {
		return false, err
	}
	ok = true
	for _, m := range mutation.All() {
		if !strings.Contains(m.Name, l.match) {
			continue
		}
		overlay, err := m.Overlay(root, l.dir)
		if err != nil {
			return false, err
		}
		broken, err := l.bench(ctx, "mutant", "-overlay", overlay)
		if err != nil {
			return false, fmt.Errorf("mutation %s: %w", m.Name, err)
		}
		said, right := l.trial(ctx, &m, whole, broken)
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("interrupted: %w", err)
		}
		ok = ok && right
		fmt.Fprintf(l.out, "%-55s %s\n", m.Name, said) //nolint:errcheck // nowhere to say it
	}
	return ok, nil
}

// trial runs directed histories with the broken program until one shows it, and that one
// with the whole program too, which must pass.
func (l *laboratory) trial(ctx context.Context, m *mutation.Mutation, whole, broken *lab.Bench) (said string, right bool) {
	modes := history.Modes()
	if m.Async {
		modes = []history.Writes{history.Async}
	}
	var histories []*history.History
	most := uint64(proofRuns)
	if m.Unneeded != "" {
		most = idleRuns
	}
	for n := range most {
		histories = append(histories, history.New(l.seed, n, history.Options{Writes: modes, Focus: &m.Focus}))
	}
	var noticed *lab.Result
	runs := 0
	l.each(ctx, broken, histories, func(r *lab.Result) bool {
		runs++
		if r.Err != nil || len(r.Violations) > 0 {
			noticed = r
		}
		return noticed == nil
	})
	switch {
	case noticed == nil && m.Unneeded != "":
		return "not noticed, as expected: " + m.Unneeded, true
	case noticed == nil:
		return fmt.Sprintf("NOT NOTICED in %d runs", runs), false
	case m.Unneeded != "":
		return "noticed, although no promise was thought to rest on it: " + complaint(noticed), false
	}
	if control := whole.Run(ctx, noticed.History); control.Err != nil || len(control.Violations) > 0 {
		return "the whole program fails too: " + complaint(control), false
	}
	return fmt.Sprintf("noticed in run %d: %s", runs, complaint(noticed)), true
}

// complaint is what is wrong with a run.
func complaint(r *lab.Result) string {
	if len(r.Violations) > 0 {
		return fmt.Sprintf("%s: %s", r.Violations[0].Kind, r.Violations[0].Text)
	}
	return r.Err.Error()
}

// moduleRoot is the directory of the module's sources.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	file := strings.TrimSpace(string(out))
	if err == nil && (file == "" || file == os.DevNull) {
		err = errors.New("not in the module")
	}
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	return filepath.Dir(file), nil
}
