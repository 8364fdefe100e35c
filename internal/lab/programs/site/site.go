//go:build linux

// Package site is where trials of programs take place: an archive service, a mount of it, a share of the
// mount by Samba, and a server that files are fetched from. What has become of a trial is asked at the
// service, past the mount, when the mount has ended.
package site

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/direct"
	"github.com/archivefs/archivefs/internal/lab/fill"
	"github.com/archivefs/archivefs/internal/lab/smbd"
)

// key is the API key of the service, which only this machine can reach.
const key = "programs"

// Folder and Inbox are where the directories of the trials are.
const (
	Folder = "Trials"
	Inbox  = "inboxes/Inbox"
)

// Service is what a service can do.
type Service string

// The services. Without sizes is one that tells no length in advance.
const (
	Full  Service = "full"
	Eight Service = "only-eight"
	Bare  Service = "no-sizes"
)

var options = map[Service]string{Eight: "--only-eight", Bare: "--no-sizes --no-head --no-range"}

// Conditions are those of a site.
type Conditions struct {
	Service Service
	Grace   time.Duration // of the mount; 0 for none
}

func (c Conditions) String() string {
	if c.Grace > 0 {
		return string(c.Service) + ", grace"
	}
	return string(c.Service)
}

// Site is a running one.
type Site struct {
	*direct.Archive
	Conditions
	program, dir string
	mount        string // where it is mounted
	address      string // of the service
	files        *files
	service      *machine.Process
	mounted      *machine.Process
	samba        *smbd.Server
}

var (
	//go:embed lab.py
	lab []byte
	//go:embed prelude.sh
	prelude string
)

// Open starts a site with its files below dir. Its archive has a mandator and an inbox, and what prepare
// adds to it before it is mounted.
func Open(ctx context.Context, program, dir string, c Conditions, prepare func(*direct.Archive) error) (*Site, error) {
	s := &Site{Conditions: c, program: program, dir: dir, mount: filepath.Join(dir, "mnt")}
	err := s.start(ctx, prepare)
	if err != nil {
		s.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

func (s *Site) start(ctx context.Context, prepare func(*direct.Archive) error) error {
	for _, d := range []string{s.mount, s.path("tree", Folder), s.path("w"), s.path("lab")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(s.path("lab", "lab.py"), lab, 0o600); err != nil {
		return err
	}
	if err := fill.Tree(ctx, s.path("data"), s.path("tree"), false); err != nil {
		return err
	}
	if err := s.serve(ctx, options[s.Service]); err != nil {
		return err
	}
	if err := prepare(s.Archive); err != nil {
		return err
	}
	if err := s.startMount(ctx); err != nil {
		return err
	}
	s.files = serveFiles()
	return s.startSamba(ctx)
}

// serve starts the service.
func (s *Site) serve(ctx context.Context, options string) (err error) {
	if s.address, err = machine.FreeAddress(ctx); err != nil {
		return err
	}
	s.Archive = direct.At(s.address, key)
	line := fmt.Sprintf("exec %q serve --data %q %s --listen %s --api-key %s --log-level warn", s.program, s.path("data"), options, s.address, key)
	if s.service, err = machine.Start(ctx, line, nil, s.path("service.log")); err != nil {
		return err
	}
	return s.service.Ready(ctx, "the service", patience, func() bool { return s.Ready(ctx) })
}

// startMount mounts the archive, by a profile: a share needs one.
func (s *Site) startMount(ctx context.Context) error {
	profile := fmt.Sprintf("[profile.lab]\nbase-url = \"http://%s\"\napi-key = %q\nmountpoint = %q\nstate-dir = %q\n",
		s.address, key, s.mount, s.path("state"))
	if err := os.WriteFile(s.path("config.toml"), []byte(profile), 0o600); err != nil {
		return err
	}
	grace := ""
	if s.Grace > 0 {
		grace = "--grace " + s.Grace.String()
	}
	var err error
	line := fmt.Sprintf("exec %q mount --config %q --notify none %s lab", s.program, s.path("config.toml"), grace)
	if s.mounted, err = machine.Start(ctx, line, []string{"HOME=" + s.dir}, s.path("mount.log")); err != nil {
		return err
	}
	return s.mounted.Ready(ctx, "the mount", patience, func() bool { return machine.Mounted(s.mount) != "" })
}

func (s *Site) path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

// Run runs a script of a trial in its directory in the mount, and returns what it printed.
func (s *Site) Run(ctx context.Context, where, script string, env ...string) (string, error) {
	id := own(where)
	file := s.path("w", id+".sh")
	if err := os.WriteFile(file, []byte(prelude+script), 0o600); err != nil {
		return "", err
	}
	env = append(env, "DIR="+filepath.Join(s.mount, where), "W="+s.path("w", id), "HOME="+s.path("w", id), "MOUNT="+s.mount,
		"ARCHIVEFS="+s.program, "LAB="+s.path("lab"), "HTTP="+s.files.URL, "SMB="+s.samba.Address, "AT="+where, fmt.Sprintf("GRACE=%g", s.Grace.Seconds()),
		"SERVICE="+string(s.Service), "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "XDG_RUNTIME_DIR="+s.path("w", id))
	r, err := machine.Run(ctx, fmt.Sprintf("bash %q 2>&1 </dev/null", file), env, patience)
	return r.Output, err
}

// own is the name of the directory that a trial has outside the mount.
func own(where string) string { return strings.ReplaceAll(where, "/", "-") }

// Meant is what a script left in the directory meant of its own; nothing if it left none.
func (s *Site) Meant(where, name string) (string, error) {
	text, err := os.ReadFile(s.path("w", own(where), "meant", name))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// Upload is what has not been archived.
type Upload struct {
	Path  string `json:"path"`
	State string `json:"state"`
	Error string `json:"error"`
}

// Remains are the uploads that the mount lists when all that could be sent was sent: a time of grace, and
// the wait of a file with a doubtful name, end now.
func (s *Site) Remains(ctx context.Context) (all []Upload, err error) {
	_, _ = machine.Run(ctx, fmt.Sprintf("exec %q uploads send %q", s.program, s.mount), nil, patience) // what it cannot send is listed
	late := s.mounted.Ready(ctx, "the end of the uploads", patience, func() bool {
		var r machine.Result
		r, err = machine.Run(ctx, fmt.Sprintf("exec %q uploads list --json %q", s.program, s.mount), nil, patience)
		if err != nil {
			return true
		}
		all = nil
		if err = json.Unmarshal([]byte(r.Output), &all); err != nil {
			return true
		}
		for _, u := range all {
			if u.State != "failed" && u.State != "local" {
				return false
			}
		}
		return true
	})
	return all, errors.Join(err, late)
}

// Settle unmounts the archive, and serves it with all operations, by which it is asked what it has.
func (s *Site) Settle(ctx context.Context) error {
	err := s.unmount(ctx)
	s.service.Stop()
	return errors.Join(err, s.serve(ctx, ""))
}

// unmount ends what uses the mount, and the mount.
func (s *Site) unmount(ctx context.Context) error {
	if s.samba != nil {
		s.samba.Stop()
		s.samba = nil
	}
	if s.mounted == nil {
		return nil
	}
	s.mounted.Stop() // SIGTERM unmounts
	s.mounted = nil
	return machine.Unmount(ctx, s.mount)
}

// Receipts are the paths of all that the archive confirmed to the mount, which has ended.
func (s *Site) Receipts() (paths []string, err error) {
	all, err := os.ReadFile(s.path("state", "receipts.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for lines := bufio.NewScanner(bytes.NewReader(all)); lines.Scan(); {
		var r struct {
			Path string `json:"path"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, err
		}
		paths = append(paths, r.Path)
	}
	return paths, err
}

// Close ends all that runs.
func (s *Site) Close(ctx context.Context) {
	_ = s.unmount(ctx) // the mount is not needed any more
	if s.service != nil {
		s.service.Stop()
	}
	if s.files != nil {
		s.files.Close()
	}
	machine.End(machine.Family(), 5*time.Second) // what a program left
}

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute
