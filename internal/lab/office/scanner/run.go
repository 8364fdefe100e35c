//go:build linux

package scanner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/archivefs/archivefs/internal/lab/direct"
	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// Report is what was done, and what came of it.
type Report struct {
	Plan    *Plan
	Scans   []*Scan
	Struck  map[string]int // troubles that really struck
	Cuts    int            // connections that were cut
	Verdict *Verdict
}

// Run carries out a plan. verbose is told of each attempt of a device that failed.
func Run(ctx context.Context, h *host.Host, p *Plan, log, verbose func(format string, args ...any)) (*Report, error) {
	dial := map[Server]func(context.Context) (line, error){
		Samba: func(ctx context.Context) (line, error) { return dialSMB(ctx, h.SMB()) },
	}
	for _, server := range []host.FTP{host.Vsftpd, host.Proftpd} {
		address, err := h.StartFTP(ctx, server)
		if err != nil {
			return nil, err
		}
		dial[Server(server)] = func(ctx context.Context) (line, error) { return dialFTP(ctx, address) }
	}
	before, err := h.Documents(ctx, host.Inbox)
	if err != nil {
		return nil, err
	}
	r := &run{Report: Report{Plan: p, Struck: map[string]int{}}, host: h, log: log}
	scans := map[*Job][]*Scan{}
	for _, j := range p.Jobs {
		for _, paper := range j.Papers {
			s := &Scan{Paper: paper, Server: serverOf(j.Device)}
			scans[j] = append(scans[j], s)
			r.Scans = append(r.Scans, s)
		}
		if j.Cut > 0 {
			r.Cuts++
		}
	}
	var working sync.WaitGroup
	for i := range p.Devices {
		d := &device{server: serverOf(i), dial: dial[serverOf(i)], log: verbose}
		working.Go(func() {
			defer d.hangUp()
			for _, j := range p.Jobs {
				if j.Device == i && ctx.Err() == nil {
					r.trouble(ctx)
					d.do(ctx, j, scans[j])
				}
			}
		})
	}
	working.Wait()
	r.failing.Wait()
	if err := errors.Join(ctx.Err(), r.err); err != nil {
		return nil, err
	}
	return &r.Report, r.judge(ctx, before)
}

// run is a plan under way.
type run struct {
	Report
	host    *host.Host
	log     func(format string, args ...any)
	begun   atomic.Int64 // jobs
	failing sync.WaitGroup

	mu   sync.Mutex // held while something of the machine is killed and started again
	next int        // the next trouble; guarded by mu
	err  error      // of a restart; guarded by mu
}

// trouble begins a job, and lets fail what is planned for it, beside the devices.
func (r *run) trouble(ctx context.Context) {
	n := int(r.begun.Add(1))
	if n%50 == 0 {
		r.log("%d of %d jobs", n, len(r.Plan.Jobs))
	}
	r.failing.Go(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for ; r.next < len(r.Plan.Troubles) && r.Plan.Troubles[r.next].Job <= n; r.next++ {
			r.err = errors.Join(r.err, r.strike(ctx, &r.Plan.Troubles[r.next]))
		}
	})
}

func (r *run) strike(ctx context.Context, t *Trouble) error {
	switch t.What {
	case KillService:
		r.Struck[string(t.What)]++
		r.host.Kill()
		return r.host.Start(ctx)
	case KillMount:
		r.Struck[string(t.What)]++
		r.host.KillMount()
		return r.host.Remount(ctx)
	}
	r.host.Wire.Fail(t.Fault)
	return nil
}

// judge waits until the mount has sent everything, and compares.
func (r *run) judge(ctx context.Context, before []direct.Document) error {
	if err := r.host.Wire.Heal(); err != nil {
		return err
	}
	var uploads []host.Upload
	err := host.Until(ctx, "an end of the uploads", func() (over bool, err error) {
		uploads, err = r.host.Uploads(ctx)
		waits := slices.IndexFunc(uploads, func(u host.Upload) bool { return u.State == "pending" })
		if err == nil && waits >= 0 {
			err = fmt.Errorf("%+v waits", uploads[waits])
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	var failed []Document
	for _, u := range uploads {
		if u.State != "failed" {
			continue
		}
		content, err := r.host.Export(ctx, u.ID)
		if err != nil {
			return err
		}
		failed = append(failed, Document{original(path.Base(u.Path)), content})
	}
	after, err := r.host.Documents(ctx, host.Inbox)
	if err != nil {
		return err
	}
	var documents []Document
	for _, d := range after {
		if slices.Contains(before, d) {
			continue
		}
		content, err := r.host.Content(ctx, d.ID)
		if err != nil {
			return err
		}
		documents = append(documents, Document{d.Name, content})
	}
	var sent [][sha256.Size]byte
	for _, p := range r.host.Wire.Passed() {
		sent = append(sent, p.Sum)
	}
	maps.Copy(r.Struck, r.host.Wire.Struck())
	r.Verdict = Judge(r.Scans, documents, sent, failed)
	return nil
}

// original is the name that a file had before its mount showed it with a number.
func original(name string) string {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	if i := strings.LastIndex(stem, " ("); i > 0 && strings.HasSuffix(stem, ")") {
		return stem[:i] + ext
	}
	return name
}
