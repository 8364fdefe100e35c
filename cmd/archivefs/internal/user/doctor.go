package user

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/closing"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
	"github.com/archivefs/archivefs/internal/samba"
	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/spool"
)

// DoctorCommand is the command doctor.
func DoctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "examine what a mount needs, and say how to mend it",
		ArgsUsage: "[PROFILE] [MOUNTPOINT...]",
		Description: "Checks the configuration, FUSE, the service, the credentials, the disk and the mounts.\n" +
			"Each check prints a line that begins with ok, warning or failure, and ends with what to do.\n" +
			"It changes nothing. The exit status is 0 if no check failed, and 1 otherwise.\n\n" +
			"   archivefs doctor office\n" +
			"   archivefs doctor --base-url https://archive.example --api-key-file KEY ~/Archive",
		Flags:  append(settings.Flags(), command.JSONFlag()),
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
		err = command.PrintJSON(c, findings)
	} else {
		err = printFindings(c.App.Writer, findings)
	}
	if failed := doctor.Failures(findings); failed > 0 && err == nil {
		return fmt.Errorf("%d of %s failed", failed, command.Plural(len(findings), "check"))
	}
	return err
}

// checkup makes all findings. Wrong usage is an error. A wrong configuration and missing
// credentials are findings, and the other checks still run.
func checkup(c *cli.Context) ([]doctor.Finding, error) {
	p := &patient{c: c}
	err := p.configure()
	findings := p.machine()
	usage, _ := errors.AsType[*config.UsageError](err)
	switch {
	case err == nil:
		findings = append(findings, doctor.Fine("configuration", p.files()))
	case usage != nil && p.misconfigured:
		do := "correct that"
		if !usage.More {
			do += "; archivefs config check shows all mistakes"
		}
		findings = append(findings, doctor.Fail("configuration", err.Error(), do))
	default:
		return nil, err
	}
	switch {
	case p.settings == nil:
	case p.settings.Embedded:
		findings = append(findings, p.data()...)
	default:
		findings = append(append(findings, p.service()...), p.people()...)
	}
	return slices.Concat(findings, p.mounts(), p.shares(), doctor.NFS("/etc", mounted.Archives())), nil
}

// printFindings prints a line for each finding, with its cure at the end.
func printFindings(out io.Writer, findings []doctor.Finding) error {
	var rows [][]string
	for _, f := range findings {
		rows = append(rows, []string{string(f.Level), f.Check, command.Join(f.Text, f.Do)})
	}
	return command.PrintTable(out, rows)
}

// patient is what doctor checks.
type patient struct {
	c             *cli.Context
	mountpoints   []string
	loaded        config.Files
	settings      *settings.Mount // nil if the service or its options are unknown
	stranger      error           // why there are no credentials, nil if there are
	misconfigured bool            // the error of configure is about a configuration file
}

// configure reads the options and the files as mount does. It uses the correct options of a wrong file.
func (p *patient) configure() error {
	loaded, broken := settings.ReadConfig(p.c)
	p.loaded, p.mountpoints = loaded, p.c.Args().Slice()
	if broken != nil && p.c.String("config") != "" && settings.IsFile(p.c.String("config")) != nil {
		return broken
	}
	p.misconfigured = broken != nil
	profile := ""
	if first := p.c.Args().First(); p.loaded.Has(first) {
		profile, p.mountpoints = first, p.mountpoints[1:]
	}
	for _, place := range p.mountpoints {
		if err := settings.WantPlace(p.loaded, place); err != nil && broken == nil {
			return err
		}
	}
	if broken != nil { // an operand may be a profile that could not be read
		p.mountpoints = slices.DeleteFunc(p.mountpoints, settings.IsNothing)
	}
	all, err := settings.Choose(p.c, p.loaded, profile)
	if err != nil {
		p.misconfigured = true
		return cmp.Or(broken, err)
	}
	if dir := all.Values[config.Mountpoint].Text; dir != "" && len(p.mountpoints) == 0 {
		p.mountpoints = []string{dir}
	}
	read, err := settings.ReadOptions(p.c, profile)
	var stranger error
	if err == nil {
		stranger = settings.ReadCaller(p.c, read)
	}
	if err == nil && read.Embedded {
		err = stranger
	}
	if err != nil {
		_, inFile := all.InFile(err)
		p.misconfigured = p.misconfigured || inFile
		return cmp.Or(broken, all.Blame(err))
	}
	if broken == nil || !read.Embedded || p.c.Bool("embedded") { // otherwise the address may be wrong
		p.settings, p.stranger = read, all.Blame(stranger)
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

// machine checks what every mount needs.
func (p *patient) machine() []doctor.Finding {
	root := os.Geteuid() == 0
	var name unix.Utsname
	_ = unix.Uname(&name)                         // it cannot fail
	status, _ := os.ReadFile("/proc/self/status") // other systems have none
	findings := []doctor.Finding{
		doctor.Device("/dev/fuse", root),
		doctor.Helper("fusermount3", root),
		doctor.OtherUsers(p.letsIn(), mounted.MayLetOthersIn(os.Geteuid(), mounted.FuseConf)),
		doctor.Kernel(unix.ByteSliceToString(name.Release[:]), doctor.Privileged(string(status))),
		doctor.Index("/etc/updatedb.conf", root || p.letsIn()),
	}
	if err := config.LocalZone(); err != nil {
		findings = append(findings, doctor.Warn("time zone", err.Error(), ""))
	}
	if unseen := new(closing.Mounts).Unseen(p.letsIn()); unseen != "" {
		findings = append(findings, doctor.Unseen("programs", "a mount from here", unseen))
	}
	return findings
}

// letsIn reports whether other users are to be let in.
func (p *patient) letsIn() bool { return p.c.Bool("allow-other") || p.c.String("map-users") != "" }

// people checks the file of --map-users, and asks the service about the credentials of each user that it names.
func (p *patient) people() (findings []doctor.Finding) {
	const check = "users"
	if p.settings.MapUsers == "" {
		return nil
	}
	var all *apiclient.People
	err := p.settings.ReadPeople(p.c.Context)
	if err == nil {
		all, err = p.settings.People.Resolve(p.c.Context, p.settings.Client.Credentials, p.settings.Client.BaseURL)
	}
	if err != nil {
		return []doctor.Finding{doctor.Fail(check, err.Error(), "correct that; nothing is mounted before")}
	}
	named := slices.Collect(maps.Values(all.Of))
	if all.Others != nil {
		named = append(named, *all.Others)
	}
	slices.SortFunc(named, func(a, b apiclient.Person) int { return strings.Compare(a.Name, b.Name) })
	for _, who := range named {
		if err := p.ask(who); archive.KindOf(err) == archive.KindUnauthorized {
			findings = append(findings, doctor.Fail(check, "the service refuses the credentials of "+who.Name+" in "+p.settings.MapUsers,
				"put valid ones where the file has them from, then send the mount SIGHUP"))
		}
	}
	if len(findings) == 0 {
		findings = append(findings, doctor.Fine(check, p.settings.People.InWords()))
	}
	return findings
}

// ask asks the service for the top of the archive with the credentials of a user.
func (p *patient) ask(who apiclient.Person) error {
	if who.Own {
		return nil // they are checked already
	}
	cfg := p.settings.Client
	cfg.RetryFor, cfg.Log, cfg.Credentials = -1, nil, who.Credentials
	client, err := apiclient.New(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Children(p.c.Context, 0)
	return err
}

// data checks the directory of the embedded service.
func (p *patient) data() []doctor.Finding {
	dir, err := config.DataDir(p.settings.Data)
	if err != nil {
		return []doctor.Finding{doctor.Fail("archive", err.Error(), "")}
	}
	findings := []doctor.Finding{doctor.Writable("archive", dir), p.space("the archive", dir)}
	for _, missing := range engine.Missing() {
		findings = append(findings, doctor.Warn("programs", missing.Name+" is not installed, for "+missing.For, "apt install "+missing.Name))
	}
	return append(findings, p.state("embedded:"+dir, false)...)
}

// service checks the archive service, and the state of mounts of it.
func (p *patient) service() []doctor.Finding {
	cfg := p.settings.Client
	cfg.RetryFor = -1 // a person waits, and can repeat the command
	cfg.Log = nil     // findings show what would be logged
	if p.stranger != nil {
		cfg.Credentials = apiclient.Credentials{APIKey: "none"} // a refusal also shows that the service can be reached
	}
	var answer *doctor.Answer
	began := time.Now()
	cfg.Watch = func(resp *http.Response) {
		if answer == nil {
			date, _ := http.ParseTime(resp.Header.Get("Date")) // zero if it sends none
			answer = &doctor.Answer{Date: date, TLS: resp.TLS, Took: time.Since(began)}
		}
	}
	client, err := apiclient.New(cfg)
	if err != nil {
		return []doctor.Finding{doctor.Fail("options", settings.WrongSetting(err).Error(), "correct that option")}
	}
	defer client.Close()
	_, err = client.Children(p.c.Context, 0)
	findings := doctor.Service(client.BaseURL(), p.caller(), answer, err, time.Now())
	switch name := client.Proxy(); {
	case name == "" || cfg.Proxy != "":
		findings = append(findings, doctor.Fine("proxy", cmp.Or(name, "none")))
	default:
		findings = append(findings, doctor.Warn("proxy", name+", of this environment", "write proxy into the configuration: a mount by a unit or fstab does not have this environment"))
	}
	if p.stranger != nil {
		findings = slices.DeleteFunc(findings, func(f doctor.Finding) bool { return f.Check == doctor.Credentials })
		text, do, _ := strings.Cut(p.stranger.Error(), "; ")
		return append(append(findings, doctor.Fail(doctor.Credentials, text, do)), p.anyState(client.BaseURL())...)
	}
	if err == nil {
		findings = append(findings, doctor.Operations(p.c.Context, client)...)
	}
	refused := archive.KindOf(err) == archive.KindUnauthorized
	return append(findings, p.state(p.settings.BoundTo(client.BaseURL()), refused)...)
}

// caller says whose credentials are used, and where they are stored.
func (p *patient) caller() string {
	cred := p.settings.Client.Credentials
	who := "an API key"
	switch {
	case cred.User != "":
		who += " and the user " + cred.User
	case cred.CloudID != "":
		who += " and the Cloud-ID " + cred.CloudID
	}
	if p.settings.Login != "" {
		who += ", from " + p.settings.Login
	}
	return who
}

// mounts checks the mounts and mount points that the options name, and reports other mounts that do not work.
func (p *patient) mounts() []doctor.Finding {
	archives := mounted.Archives()
	var named []string
	for _, dir := range p.mountpoints {
		if abs, err := filepath.Abs(dir); err == nil && slices.Contains(archives, abs) {
			dir = abs
		}
		named = append(named, dir)
	}
	findings := make([]doctor.Finding, len(named)+len(archives))
	var all sync.WaitGroup
	for i, dir := range append(slices.Clone(named), archives...) {
		all.Go(func() {
			switch {
			case i >= len(named) && !slices.Contains(named, dir):
				findings[i] = doctor.Mount(dir, mounted.Answers(dir), doctor.State{})
			case i < len(named) && slices.Contains(archives, dir):
				state, err := askMount(dir)
				findings[i] = doctor.Mount(dir, err, state)
			case i < len(named):
				findings[i] = mountpoint(dir, p.c.Bool("nonempty"))
			}
		})
	}
	all.Wait()
	return append(findings[:len(named)], slices.DeleteFunc(findings[len(named):], func(f doctor.Finding) bool {
		return f.Level == doctor.OK || f.Level == ""
	})...)
}

// mountpoint checks whether dir can be a mount point.
func mountpoint(dir string, nonempty bool) doctor.Finding {
	const check = "mount point"
	if err := mounted.CheckMountpoint(dir, nonempty); err != nil {
		return doctor.Fail(check, err.Error(), "")
	}
	if err := unix.Access(dir, unix.W_OK); err != nil && !errors.Is(err, unix.EROFS) {
		return doctor.Fail(check, "you may not write to "+dir+", and so fusermount3 mounts nothing there for you", "name a directory of your own")
	}
	if do := doctor.SystemAppArmor.Cure(dir); do != "" && os.Geteuid() != 0 {
		return doctor.Warn(check, "AppArmor may keep fusermount3 from mounting at "+dir, do)
	}
	return doctor.Fine(check, dir+" is free")
}

// state checks the state directory of an archive. refused says that the service refuses the credentials.
func (p *patient) state(identity string, refused bool) (findings []doctor.Finding) {
	for _, b := range config.Earlier(p.settings.StateDir, p.settings.Profile, identity) {
		findings = append(findings, doctor.Warn("earlier key", b.State+" belongs to another API key ("+b.Caller()+")",
			"a mount goes on with it if the service shows the same archive and user; "+mounted.ByWord(&b)))
	}
	seen, err := config.LookDirs(p.settings.StateDir, identity)
	if err != nil && len(findings) == 0 {
		return []doctor.Finding{doctor.Fail("state", err.Error(), "")}
	}
	state := doctor.Writable("state", seen.State)
	if seen.Busy {
		by := "a mount"
		if e := config.UsedBy(seen.State); e != nil && e.Ending {
			by = e.Command + e.Process()
		}
		state = doctor.Fine("state", seen.State+" is in use by "+by)
	}
	findings = append(findings, state, p.space("uploads", seen.State), p.space("the cache", seen.Cache))
	if n, err := spool.Waiting(mounted.SpoolOf(seen.State)); err == nil && n > 0 && !seen.Busy {
		findings = append(findings, doctor.Warn(uploadsCheck, command.Doing(n, "upload", "waits", "wait")+" for a mount in "+seen.State,
			mounted.GoesOn(seen.State, refused)))
	}
	return append(findings, p.leftBehind(identity, seen.State)...)
}

// uploadsCheck is the name of the check of uploads that ended mounts left.
const uploadsCheck = "uploads"

// leftBehind checks for pending uploads in other state directories than that of the mount, and for caches that no
// mount uses.
func (p *patient) leftBehind(identity, own string) (findings []doctor.Finding) {
	if p.settings.Embedded {
		return nil // its archive has one directory
	}
	service, _, _ := strings.Cut(identity, " ")
	for _, l := range mounted.LeftBehindAt(service, own) {
		findings = append(findings, doctor.Warn(uploadsCheck, l.InWords(), command.Join(mounted.Reach(l.State), mounted.ByWord(&l.Bound))))
	}
	for _, b := range config.AllBound(own) {
		if _, err := os.Stat(b.Cache); err == nil && b.ByKey() && b.Service() == service && !b.Busy() {
			findings = append(findings, doctor.Warn("old cache", "no --cache-size counts "+b.Cache+", which belongs to another API key ("+b.Caller()+")",
				"if nobody mounts with that any more, rm -r "+doctor.Quoted(b.Cache)+" removes it"))
		}
	}
	return findings
}

// anyState checks the state directories of a service. The credentials decide which one a mount uses.
func (p *patient) anyState(service string) []doctor.Finding {
	seen, err := config.LookHomes(p.settings.StateDir)
	if err != nil {
		return []doctor.Finding{doctor.Fail("state", err.Error(), "")}
	}
	findings := []doctor.Finding{doctor.Writable("state", seen.State), p.space("uploads", seen.State), p.space("the cache", seen.Cache)}
	return append(findings, p.leftBehind(service, "")...)
}

func (p *patient) space(what, dir string) doctor.Finding {
	usage, err := doctor.UsageOf(dir)
	return doctor.Space(what, dir, usage, err, p.settings.KeepFree)
}

// shares checks the shares of Samba that export one of the mounts.
func (p *patient) shares() (findings []doctor.Finding) {
	conf, err := exec.CommandContext(p.c.Context, "testparm", "-s").Output()
	if err != nil {
		return nil // there is no Samba, or its configuration is wrong, which it says itself
	}
	for _, s := range samba.Shares(string(conf), mounted.Archives()) {
		findings = append(append(findings, doctor.Share(s.Name, s.Path, s.Lacks)), doctor.SELinux(doctor.SELinuxFS, s.Path, fusectl.Mounts("self"))...)
	}
	return findings
}

// askMount reads the status of a mount.
func askMount(dir string) (s doctor.State, err error) {
	if err := mounted.Answers(dir); err != nil {
		return s, err
	}
	_, status, err := mounted.Status(dir)
	if err != nil {
		return s, err
	}
	if status.Health == fs.HealthAway {
		s.Away = "no answer"
		if len(status.LastErrors) > 0 {
			s.Away = status.LastErrors[0].Text
		}
	}
	s.Disk, s.Failed, s.HeldBack, s.Unseen = status.Disk, status.Uploads.Failed(), status.Uploads.HeldBack(), status.Unseen
	return s, nil
}
