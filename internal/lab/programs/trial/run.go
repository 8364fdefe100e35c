//go:build linux

package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/lab/direct"
	"github.com/archivefs/archivefs/internal/lab/programs/site"
)

// Grace is the time of grace of a mount that has one: longer than any trial takes, which end it
// themselves.
const Grace = time.Minute

// Plan says what is tried.
type Plan struct {
	Program string // archivefs
	Dir     string // for all files
	Only    *regexp.Regexp
	Sites   []site.Conditions
	Log     func(format string, args ...any)
}

// Sites are all conditions, those with a time of grace if the mounts know it.
func Sites(grace bool) (all []site.Conditions) {
	for _, s := range []site.Service{site.Full, site.Eight} {
		all = append(all, site.Conditions{Service: s})
		if grace {
			all = append(all, site.Conditions{Service: s, Grace: Grace})
		}
	}
	return append(all, site.Conditions{Service: site.Bare})
}

// Run does all trials at all places.
func (p Plan) Run(ctx context.Context) (all []*Outcome, err error) {
	for i, c := range p.Sites {
		outcomes, err := p.at(ctx, filepath.Join(p.Dir, fmt.Sprint(i)), c)
		if err != nil {
			return all, fmt.Errorf("%s: %w", c, err)
		}
		all = append(all, outcomes...)
	}
	return all, ctx.Err()
}

// at does the trials of one site.
func (p Plan) at(ctx context.Context, dir string, c site.Conditions) (all []*Outcome, err error) {
	for i, t := range Trials() {
		for _, inbox := range []bool{false, true} {
			place := Place{c, inbox}
			if !t.on(place) || p.Only != nil && !p.Only.MatchString(t.Program+": "+t.Does) {
				continue
			}
			where := site.Folder
			if inbox {
				where = site.Inbox
			}
			all = append(all, &Outcome{Trial: t, Place: place, where: fmt.Sprintf("%s/%03d-%s", where, i, strings.Fields(t.Program)[0])})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	s, err := site.Open(ctx, p.Program, dir, c, func(a *direct.Archive) (err error) {
		for _, o := range all {
			err = errors.Join(err, o.prepare(ctx, a))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	defer s.Close(context.WithoutCancel(ctx))
	p.try(ctx, s, all)
	return all, errors.Join(ctx.Err(), p.judge(ctx, s, all))
}

// workers is how many trials are under way at a time: they mostly wait.
const workers = 6

// try does the trials.
func (p Plan) try(ctx context.Context, s *site.Site, all []*Outcome) {
	todo := make(chan *Outcome)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for o := range todo {
				o.run(ctx, s)
			}
		})
	}
	for _, o := range all {
		if ctx.Err() == nil {
			todo <- o
		}
	}
	close(todo)
	wg.Wait()
}

// judge ends the mount, and asks the service.
func (p Plan) judge(ctx context.Context, s *site.Site, all []*Outcome) error {
	remains, err := s.Remains(ctx)
	if err := errors.Join(err, s.Settle(ctx)); err != nil {
		return err
	}
	receipts, err := s.Receipts()
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := o.judge(ctx, s, remains, receipts); err != nil {
			return fmt.Errorf("%s: %w", o.where, err)
		}
		verdict := "ok"
		if len(o.Limits) > 0 {
			verdict = "limit: " + strings.Join(o.Limits, "; ")
		}
		if len(o.Faults) > 0 {
			verdict = "FAULT: " + strings.Join(o.Faults, "; ")
		}
		p.Log("%s, %s: %s, %s: %s", s.Conditions, o.Place, o.Program, o.Does, verdict)
	}
	return nil
}
