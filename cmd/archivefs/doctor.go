package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "examine what a mount needs, and say how to mend it",
		ArgsUsage: "[PROFILE] [MOUNTPOINT...]",
		Description: "Examines the configuration, FUSE, the service and the credentials, the disk, and what is mounted.\n" +
			"Each check prints a line that begins with ok, warning or failure, and ends with what to do.\n" +
			"Nothing is changed. The exit status is 0 when nothing failed, and 1 otherwise.\n\n" +
			"   archivefs doctor office\n" +
			"   archivefs doctor --base-url https://archive.example --api-key-file KEY ~/Archive",
		Flags:  append(mountFlags(), jsonFlag()),
		Action: examine,
	}
}

// examine runs all checks and prints their findings.
func examine(c *cli.Context) error {
	findings, err := checkup(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = printJSON(c, findings)
	} else {
		err = printFindings(c.App.Writer, findings)
	}
	if failed := doctor.Failures(findings); failed > 0 && err == nil {
		return fmt.Errorf("%d of %s failed", failed, plural(len(findings), "check"))
	}
	return err
}

// checkup makes all findings. Wrong usage is an error; a wrong configuration is a finding, and
// so are missing credentials: what can be examined without them is.
func checkup(c *cli.Context) ([]doctor.Finding, error) {
	p := &patient{c: c}
	err := p.configure()
	findings := p.machine()
	var usage *config.UsageError
	switch {
	case err == nil:
		findings = append(findings, doctor.Fine("configuration", p.files()))
	case errors.As(err, &usage) && p.misconfigured:
		do := "correct that"
		if !strings.Contains(err.Error(), "archivefs config check") {
			do += "; archivefs config check shows all mistakes"
		}
		findings = append(findings, doctor.Fail("configuration", err.Error(), do))
	default:
		return nil, err
	}
	switch {
	case p.settings == nil:
	case p.settings.embedded:
		findings = append(findings, p.data()...)
	default:
		findings = append(findings, p.service()...)
	}
	return append(findings, p.mounts()...), nil
}

// printFindings writes a line for each finding, with what to do at its end.
func printFindings(out io.Writer, findings []doctor.Finding) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, f := range findings {
		text := f.Text
		if f.Do != "" {
			text += "; " + f.Do
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, f.Check, text) //nolint:errcheck // Flush tells
	}
	return w.Flush()
}

// patient is what doctor examines.
type patient struct {
	c             *cli.Context
	mountpoints   []string
	loaded        config.Files
	settings      *mountSettings // nil when it is not known which service is meant, and how it is asked
	stranger      error          // why there are no credentials, nil when there are
	misconfigured bool           // the error of configure is about a configuration file
}

// configure reads the options and the files as mount does. What is right in files that have
// a mistake counts.
func (p *patient) configure() error {
	loaded, broken := readConfig(p.c)
	p.loaded, p.mountpoints = loaded, p.c.Args().Slice()
	if broken != nil && p.c.String("config") != "" && isFile(p.c.String("config")) != nil {
		return broken
	}
	p.misconfigured = broken != nil
	profile := ""
	if first := p.c.Args().First(); p.loaded.Has(first) {
		profile, p.mountpoints = first, p.mountpoints[1:]
	}
	for _, place := range p.mountpoints {
		if err := wantPlace(p.loaded, place); err != nil && broken == nil {
			return err
		}
	}
	if broken != nil { // a word is a profile that could not be read
		p.mountpoints = slices.DeleteFunc(p.mountpoints, isNothing)
	}
	all, err := choose(p.c, p.loaded, profile)
	if err != nil {
		p.misconfigured = true
		return cmp.Or(broken, err)
	}
	if dir := all.values[config.Mountpoint].Text; dir != "" && len(p.mountpoints) == 0 {
		p.mountpoints = []string{dir}
	}
	settings, err := readOptions(p.c, profile)
	var stranger error
	if err == nil {
		stranger = readCaller(p.c, settings)
	}
	if err == nil && settings.embedded {
		err = stranger
	}
	if err != nil {
		_, inFile := all.inFile(err)
		p.misconfigured = p.misconfigured || inFile
		return cmp.Or(broken, all.blame(err))
	}
	if broken == nil || !settings.embedded || p.c.Bool("embedded") { // else the address may be what is broken
		p.settings, p.stranger = settings, all.blame(stranger)
	}
	return broken
}

// files names the configuration files that were read.
func (p *patient) files() string {
	var paths []string
	for _, f := range p.loaded {
		paths = append(paths, f.Path)
	}
	return cmp.Or(strings.Join(paths, ", "), "there are no files")
}

// machine examines what every mount needs.
func (p *patient) machine() []doctor.Finding {
	root := os.Geteuid() == 0
	var name unix.Utsname
	_ = unix.Uname(&name)                         // it cannot fail
	status, _ := os.ReadFile("/proc/self/status") // other systems have none
	return []doctor.Finding{
		doctor.Device("/dev/fuse", root),
		doctor.Helper("fusermount3", root),
		doctor.OtherUsers(p.c.Bool("allow-other"), mayLetOthersIn(os.Geteuid(), fuseConf)),
		doctor.Kernel(unix.ByteSliceToString(name.Release[:]), doctor.Privileged(string(status))),
	}
}

// data examines where the embedded service keeps its archive.
func (p *patient) data() []doctor.Finding {
	dir, err := config.DataDir(p.settings.data)
	if err != nil {
		return []doctor.Finding{doctor.Fail("archive", err.Error(), "")}
	}
	return append([]doctor.Finding{doctor.Writable("archive", dir), p.space("the archive", dir)}, p.state("embedded:"+dir, false)...)
}

// service examines the archive service, and the state of mounts of it.
func (p *patient) service() []doctor.Finding {
	cfg := p.settings.client
	cfg.RetryFor = -1 // a person waits, and can call again
	cfg.Log = nil     // what is logged elsewhere is a finding here
	if p.stranger != nil {
		cfg.Credentials = apiclient.Credentials{APIKey: "none"} // also a refusal shows how the service can be reached
	}
	var answer *doctor.Answer
	began := time.Now()
	cfg.Watch = func(resp *http.Response) {
		if answer == nil {
			date, _ := http.ParseTime(resp.Header.Get("Date")) // zero when it says none
			answer = &doctor.Answer{Date: date, TLS: resp.TLS, Took: time.Since(began)}
		}
	}
	client, err := apiclient.New(cfg)
	if err != nil {
		return []doctor.Finding{doctor.Fail("options", wrongSetting(err).Error(), "correct that option")}
	}
	defer client.Close()
	_, err = client.Children(p.c.Context, 0)
	findings := doctor.Service(client.BaseURL(), p.caller(), answer, err, time.Now())
	if p.stranger != nil {
		findings = slices.DeleteFunc(findings, func(f doctor.Finding) bool { return f.Check == doctor.Credentials })
		text, do, _ := strings.Cut(p.stranger.Error(), "; ")
		return append(append(findings, doctor.Fail(doctor.Credentials, text, do)), p.anyState(client.BaseURL())...)
	}
	if err == nil {
		findings = append(findings, doctor.Operations(p.c.Context, client)...)
	}
	refused := archive.KindOf(err) == archive.KindUnauthorized
	return append(findings, p.state(client.BaseURL()+" "+cfg.Credentials.Identity(), refused)...)
}

// caller says whose credentials are used, and where they are kept.
func (p *patient) caller() string {
	cred := p.settings.client.Credentials
	who := "an API key"
	switch {
	case cred.User != "":
		who += " and the user " + cred.User
	case cred.CloudID != "":
		who += " and the Cloud-ID " + cred.CloudID
	}
	if p.settings.login != "" {
		who += ", from " + p.settings.login
	}
	return who
}

// mounts examines the mounts and mount points that the options name, and of other mounts of
// archives those that do not work.
func (p *patient) mounts() []doctor.Finding {
	mounted := mountedArchives()
	var named []string
	for _, dir := range p.mountpoints {
		if abs, err := filepath.Abs(dir); err == nil && slices.Contains(mounted, abs) {
			dir = abs
		}
		named = append(named, dir)
	}
	findings := make([]doctor.Finding, len(named)+len(mounted))
	var all sync.WaitGroup
	for i, dir := range append(slices.Clone(named), mounted...) {
		all.Go(func() {
			switch {
			case i >= len(named) && !slices.Contains(named, dir):
				findings[i] = doctor.Mount(dir, answers(dir), doctor.State{})
			case i < len(named) && slices.Contains(mounted, dir):
				state, err := askMount(dir)
				findings[i] = doctor.Mount(dir, err, state)
			case i < len(named):
				findings[i] = mountpoint(p.c.Context, dir, p.c.Bool("nonempty"))
			}
		})
	}
	all.Wait()
	return append(findings[:len(named)], slices.DeleteFunc(findings[len(named):], func(f doctor.Finding) bool {
		return f.Level == doctor.OK || f.Level == ""
	})...)
}

// mountpoint examines whether something can be mounted at dir.
func mountpoint(ctx context.Context, dir string, nonempty bool) doctor.Finding {
	const check = "mount point"
	if err := checkMountpoint(ctx, dir, nonempty); err != nil {
		return doctor.Fail(check, err.Error(), "")
	}
	if err := unix.Access(dir, unix.W_OK); err != nil && !errors.Is(err, unix.EROFS) {
		return doctor.Fail(check, "you may not write to "+dir+", and so fusermount3 mounts nothing there for you", "name a directory of your own")
	}
	return doctor.Fine(check, dir+" is free")
}

// mountedArchives are the directories at which archives are mounted, as far as the system
// tells.
func mountedArchives() (dirs []string) {
	for _, m := range doctor.Mounts(mountinfo("self")) {
		dirs = append(dirs, m.Dir)
	}
	return dirs
}

// state examines where mounts of an archive keep what must outlive them. refused says that the
// service does not take their credentials.
func (p *patient) state(identity string, refused bool) []doctor.Finding {
	seen, err := config.LookDirs(p.settings.stateDir, identity)
	if err != nil {
		return []doctor.Finding{doctor.Fail("state", err.Error(), "")}
	}
	state := doctor.Writable("state", seen.State)
	if seen.Busy {
		state = doctor.Fine("state", seen.State+" is in use by a mount")
	}
	findings := []doctor.Finding{state, p.space("uploads", seen.State), p.space("the cache", seen.Cache)}
	if n, err := spool.Waiting(spoolOf(seen.State)); err == nil && n > 0 && !seen.Busy {
		findings = append(findings, doctor.Warn(uploadsCheck, doing(n, "upload", "waits", "wait")+" for a mount in "+seen.State,
			goesOn(seen.State, refused)))
	}
	return append(findings, p.leftBehind(identity, seen.State)...)
}

// uploadsCheck is the check of what mounts that have ended left.
const uploadsCheck = "uploads"

// leftBehind examines what waits for the service in other state directories than the one of
// the mount.
func (p *patient) leftBehind(identity, own string) (findings []doctor.Finding) {
	if p.settings.embedded {
		return nil // its archive has one directory
	}
	service, _, _ := strings.Cut(identity, " ")
	for _, l := range leftBehindAt(service, own) {
		findings = append(findings, doctor.Warn(uploadsCheck, l.inWords(), reach(l.State)))
	}
	return findings
}

// anyState examines where mounts of a service keep theirs: which one it is says who calls.
func (p *patient) anyState(service string) []doctor.Finding {
	seen, err := config.LookHomes(p.settings.stateDir)
	if err != nil {
		return []doctor.Finding{doctor.Fail("state", err.Error(), "")}
	}
	findings := []doctor.Finding{doctor.Writable("state", seen.State), p.space("uploads", seen.State), p.space("the cache", seen.Cache)}
	return append(findings, p.leftBehind(service, "")...)
}

func (p *patient) space(what, dir string) doctor.Finding {
	usage, err := doctor.UsageOf(dir)
	return doctor.Space(what, dir, usage, err, p.settings.keepFree)
}

// mountLimit is how long a mount may take to tell how it is.
const mountLimit = 3 * time.Second

// errSilent says that a mount does not answer.
var errSilent = fmt.Errorf("no answer within %s", mountLimit)

// answers returns an error unless a process is behind the mount at dir, and open to this
// user. It lets other processes look: who asks a mount that hangs cannot be ended any more.
func answers(dir string) error {
	// The attributes of the first look are remembered by the kernel, what the second asks
	// for is not, but open to all.
	for _, args := range [][]string{{"--", dir}, {"-f", "--", dir}} {
		var said bytes.Buffer
		look := exec.Command("stat", args...) //nolint:gosec,noctx // a path; it is not waited for longer than below
		look.Env, look.Stderr = append(os.Environ(), "LC_ALL=C"), &said
		if err := look.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- look.Wait() }()
		limit := time.NewTimer(mountLimit)
		select {
		case err := <-ended:
			limit.Stop()
			if err != nil {
				return errorOf(said.String())
			}
		case <-limit.C:
			_ = look.Process.Kill() // which takes effect when the mount answers
			return errSilent
		}
	}
	return nil
}

// errorOf turns the words of stat(1) back into the error.
func errorOf(said string) error {
	for _, err := range []syscall.Errno{syscall.ENOTCONN, syscall.EACCES, syscall.ENOENT} {
		if strings.HasSuffix(strings.ToLower(strings.TrimSpace(said)), err.Error()) {
			return err
		}
	}
	return errors.New(strings.TrimSpace(said))
}

// askMount asks a mount how it is.
func askMount(dir string) (s doctor.State, err error) {
	if err := answers(dir); err != nil {
		return s, err
	}
	_, status, err := readStatus(dir)
	if err != nil {
		return s, err
	}
	if status.Health == fs.HealthAway {
		s.Away = "no answer"
		if len(status.LastErrors) > 0 {
			s.Away = status.LastErrors[0].Text
		}
	}
	s.Disk, s.Failed = status.Disk, failedUploads(status)
	return s, nil
}
