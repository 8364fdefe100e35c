// Package user has the commands for users other than mount: they show and unmount mounts, manage
// uploads, and store credentials.
package user

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

// ConfigCommand is the command config, with those below it.
func ConfigCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "check the configuration files, and see what they say",
		Description: "A configuration file sets options of mount, for all or for a profile:\n\n" +
			"   ttl = \"5m\"\n\n" +
			"   [profile.office]\n" +
			"   base-url = \"https://archive.example\"\n" +
			"   mountpoint = \"~/Archive\"\n\n" +
			"archivefs mount office then mounts it. The file is ~/.config/archivefs/config.toml; what that\n" +
			"does not say is looked for in /etc/archivefs/config.toml. The environment counts more than both,\n" +
			"and the command line more than the environment.",
		Subcommands: []*cli.Command{configCheckCommand(), configShowCommand()},
	}
}

func configShowCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show which options count for a mount, and where each comes from",
		ArgsUsage: "[PROFILE]",
		Description: "Prints a line for each option of mount: its name, its value, and its source. Secrets are shown\n" +
			"as ***. Options before PROFILE count as they do for mount.",
		Flags: settings.Flags(),
		Action: func(c *cli.Context) error {
			files, err := settings.ReadConfig(c)
			if err != nil {
				return err
			}
			profile, err := settings.OnlyProfile(c)
			if err != nil {
				return err
			}
			all, err := settings.Choose(c, files, profile)
			if err != nil {
				return err
			}
			return all.Print(c)
		},
	}
}

func configCheckCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "check FILE, or else the files that mount reads",
		ArgsUsage: "[FILE]",
		Description: "Prints a line for each mistake, as FILE:LINE: TEXT. The exit status is 0 when there is none. No\n" +
			"command of the configuration is run, and the service is not asked: archivefs doctor does that.",
		Flags:  []cli.Flag{command.ConfigFlag()},
		Action: checkConfig,
	}
}

func checkConfig(c *cli.Context) error {
	if c.NArg() > 1 {
		return config.Usagef("check takes one FILE at most, and was given %d operands", c.NArg())
	}
	paths := settings.ConfigPaths(c)
	if c.Args().Present() {
		paths = []string{c.Args().First()}
	}
	if c.Args().Present() || c.String("config") != "" {
		if err := settings.IsFile(paths[0]); err != nil {
			return config.Usagef("%v", err)
		}
	}
	files, problems := config.Load(paths, settings.FileOptions())
	problems = append(problems, settings.WrongValues(files)...).Sort()
	for _, p := range problems {
		if _, err := fmt.Fprintln(c.App.Writer, p); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the configuration has %s", command.Plural(len(problems), "mistake"))
	}
	if len(files) == 0 {
		_, err := fmt.Fprintf(c.App.Writer, "there is no configuration: neither %s nor %s\n", paths[0], paths[len(paths)-1])
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(c.App.Writer, "%s: right, with %s\n", f.Path, command.Plural(len(f.Profiles), "profile")); err != nil {
			return err
		}
	}
	return nil
}

// StatusCommand is the command status.
func StatusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show requests, caches, uploads and health of a running mount",
		ArgsUsage: "MOUNTPOINT|PROFILE",
		Description: "Its health is one of\n\n" +
			"   ok       the service answers, and no upload failed\n" +
			"   away     the service does not answer, or refuses the credentials: what is known is shown,\n" +
			"            and the last error says why. With --writes async uploads wait, with sync they fail\n" +
			"   disk     the disk that keeps what waits to be archived takes no files: it is read-only, full\n" +
			"            or failing, and new files may be refused\n" +
			"   failing  uploads failed and wait for your decision: see archivefs uploads list MOUNTPOINT",
		Flags: append([]cli.Flag{
			command.JSONFlag(),
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "show it anew every second, until Ctrl-C"},
		}, settings.PlaceFlags()...),
		Action: showStatus,
	}
}

func showStatus(c *cli.Context) error {
	dir, err := settings.MountpointOperand(c)
	if err != nil {
		return err
	}
	if c.Bool("watch") {
		ticks := time.NewTicker(time.Second)
		defer ticks.Stop()
		return watchStatus(c, dir, ticks.C)
	}
	text, status, err := mounted.Status(dir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		_, err := c.App.Writer.Write(text)
		return err
	}
	return printStatus(c.App.Writer, dir, status)
}

// healthInWords explains the health of the mount at dir, and how to improve it.
func healthInWords(dir string, s *fs.Status) string {
	failed := s.Uploads.Failed()
	waiting := len(s.Uploads.List) - failed
	list := "see archivefs uploads list " + doctor.Quoted(dir)
	switch s.Health {
	case fs.HealthOK:
		if s.Partial {
			return s.Health + ": the service answers"
		}
		if silent := silence(s.Requests); silent > 0 {
			return fmt.Sprintf("%s so far: no upload failed, but the service has not answered for %s", s.Health, silent)
		}
		return s.Health + ": the service answers, and no upload failed" + slowness(s.Requests)
	case fs.HealthAway:
		text := s.Health + ": " + mounted.AwayInWords(s.Cure != "") + "; what is known is shown"
		if waiting > 0 {
			text += "; " + command.Doing(waiting, "upload", "waits", "wait")
		}
		if failed > 0 {
			text += "; " + command.Plural(failed, "upload") + " failed, " + list
		}
		return text
	case fs.HealthDisk:
		return s.Health + ": new files may be refused, because the disk of the state directory is full, read-only or failing" + silenceToo(s)
	case fs.HealthFailing:
		return s.Health + ": " + command.Doing(failed, "upload", "failed and waits", "failed and wait") + " for your decision, " + list + silenceToo(s)
	}
	return s.Health
}

// silenceToo is the end of a sentence about something else, if the service is silent, too.
func silenceToo(s *fs.Status) string {
	if silent := silence(s.Requests); silent > 0 {
		return fmt.Sprintf("; and the service has not answered for %s", silent)
	}
	return ""
}

// slowness is the end of a sentence about a service that takes longer to answer, on average, than doctor.Slow.
func slowness(requests []archive.OperationStats) string {
	total, n := time.Duration(0), int64(0)
	for i := range requests {
		if r := &requests[i]; r.Sent == 0 { // else it is what was sent that takes long
			total, n = total+r.Total, n+r.Requests
		}
	}
	if n == 0 || total/time.Duration(n) < doctor.Slow {
		return ""
	}
	return fmt.Sprintf("; it is slow: %s for a request, on average", (total / time.Duration(n)).Round(100*time.Millisecond))
}

// longSilence is how long the service may take to answer without a word about it.
const longSilence = 3 * time.Second

// silence is how long the service has not answered, in seconds; 0 if that is not long.
func silence(requests []archive.OperationStats) time.Duration {
	longest := time.Duration(0)
	for i := range requests {
		longest = max(longest, requests[i].Silent)
	}
	if longest < longSilence {
		return 0
	}
	return longest.Truncate(time.Second)
}

// statusTable writes lines in columns, which are separated by tabs.
type statusTable struct{ w *tabwriter.Writer }

func (t *statusTable) row(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) } //nolint:errcheck // Flush tells

// printStatus writes the status of the mount at dir as a table.
func printStatus(out io.Writer, dir string, s *fs.Status) error {
	t := &statusTable{w: tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)}
	t.row("service\t%s", s.Service)
	t.row("mounted\t%s (process %d, version %s)", s.Mounted.Local().Format(time.DateTime), s.PID, s.Version)
	t.row("health\t%s", healthInWords(dir, s))
	if s.Partial {
		t.row("the rest\tis known to the user whose mount it is: uploads, errors, requests and caches")
		return t.w.Flush()
	}
	if s.Cure != "" {
		t.row("what to do\t%s", s.Cure)
	}
	if !s.Renewed.IsZero() {
		t.row("API key\twas renewed; since %s what waits, is kept and is cached under the one before goes on", s.Renewed.Local().Format(time.DateTime))
	}
	if s.People != nil {
		t.row("users\t%s", peopleInWords(s.People))
	}
	if s.Disk != "" {
		t.row("disk\t%s", s.Disk)
	}
	if s.Unseen != "" {
		t.row("not seen\t%s: what is killed while it writes seems to have finished", s.Unseen)
	}
	for i, e := range s.LastErrors {
		t.row("%s\t%s  %s%s", onlyFirst(i, "last errors"), e.Time.Local().Format(time.DateTime), e.Text, mendedInWords(e.Mended))
	}
	for i, r := range s.LastRefusals {
		t.row("%s\t%s  %s %s: %s", onlyFirst(i, "last refusals"), r.Time.Local().Format(time.DateTime), r.Operation, r.Path, r.Reason)
	}
	t.uploads(&s.Uploads)
	t.kept(s.Kept)
	t.caches(&s.Cache)
	sent, received := traffic(s.Requests)
	t.row("traffic\t%s sent, %s received", command.Size(sent), command.Size(received))
	t.requests(s.Requests)
	return t.w.Flush()
}

// peopleInWords says who has credentials of their own.
func peopleInWords(p *fs.PeopleStatus) string {
	text := command.Doing(p.Mapped, "user", "has credentials of its own", "have credentials of their own")
	if len(p.Refused) > 0 {
		text += "; the service refuses those of " + strings.Join(p.Refused, ", ")
	}
	return text
}

// mendedInWords says when something that had failed succeeded.
func mendedInWords(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return "; it succeeded at " + at.Local().Format(time.DateTime)
}

func (t *statusTable) uploads(u *fs.UploadStatus) {
	pending := fmt.Sprintf("%d pending", u.Pending())
	if n := u.Resting(); n > 0 {
		pending += fmt.Sprintf(" (%d left alone first, --grace)", n)
	}
	t.row("uploads\t%d being sent, %s, %d failed, %s on disk", u.Sending, pending, u.Failed(), command.Size(u.Bytes))
	if n := len(u.Open); n > 0 {
		t.row("\t%s open: programs are writing", command.Doing(n, "file", "is", "are"))
	}
	if u.Local > 0 {
		t.row("\t%s here alone, temporary or empty", command.Doing(u.Local, "file", "is", "are"))
	}
	for _, path := range u.HeldBack() {
		t.row("\ta whole document under a name that stays here; rename it, and it is archived  %s", path)
	}
	for i := range u.List {
		switch up := &u.List[i]; {
		case up.Sent == 0 || up.Size == 0:
		case up.Sent >= up.Size:
			t.row("\t%s sent, waiting for the answer  %s", command.Size(up.Size), up.Path)
		default:
			t.row("\t%s %3d %% of %s  %s", bar(up.Sent, up.Size), 100*up.Sent/up.Size, command.Size(up.Size), up.Path)
		}
	}
}

// bar shows the share of all that is done, in 20 columns.
func bar(done, all int64) string {
	const columns = 20
	n := int(columns * min(done, all) / all)
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", columns-n) + "]"
}

func (t *statusTable) caches(c *fs.CacheStatus) {
	opens := c.Content.Hits + c.Content.Misses
	local := ""
	if c.Content.Local > 0 {
		local = fmt.Sprintf(" (%d in the embedded service's own files, not copied)", c.Content.Local)
	}
	t.row("content cache\t%s%s, %s of %s; %d of %s from it%s", command.Plural(c.Content.Files+c.Content.Local, "document"), local,
		command.Size(c.Content.Bytes-c.Content.KeptBytes), command.Size(c.Content.Limit), c.Content.Hits, command.Plural(opens, "open"), rate(c.Content.Hits, opens))
	if c.Content.KeptBytes > 0 {
		t.row("\t%s more are kept, whatever the limit", command.Size(c.Content.KeptBytes))
	}
	known := c.Documents.Hits + c.Documents.Ahead
	all := known + c.Documents.Misses
	t.row("listings\t%s known; %d of %s from memory%s", command.Plural(c.Documents.Entries, "folder"), known, command.Plural(all, "look-up"), rate(known, all))
}

// rate is hits in percent of all, empty if that says nothing.
func rate(hits, all uint64) string {
	if hits == 0 || hits == all {
		return ""
	}
	return fmt.Sprintf(" (%d %%)", 100*hits/all)
}

// traffic adds up the bytes of the bodies of requests and of answers.
func traffic(requests []archive.OperationStats) (sent, received int64) {
	for i := range requests {
		sent += requests[i].Sent
		received += requests[i].Received
	}
	return sent, received
}

// requests prints how many requests each operation had, and the times to the head of the answer.
func (t *statusTable) requests(all []archive.OperationStats) {
	if len(all) > 0 {
		t.row("\nOPERATION\tREQUESTS\tFAILED\tREPEATED\tSENT\tRECEIVED\tMEAN\tHALF WITHIN\t99 %% WITHIN")
	}
	for i := range all {
		r := &all[i]
		mean := time.Duration(0)
		if r.Requests > 0 {
			mean = r.Total / time.Duration(r.Requests)
		}
		t.row("%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s", r.Operation, r.Requests, r.Failures, r.Retries, command.Size(r.Sent), command.Size(r.Received),
			mean.Round(10*time.Microsecond), within(&r.Latency, 0.5), within(&r.Latency, 0.99))
	}
}

// within is the time within which a share of the answers arrived.
func within(l *archive.Latency, share float64) string {
	if bound, ok := l.Within(share); ok {
		return bound.String()
	}
	return "-"
}

// clearScreen puts the next character at the top left of an empty terminal (ECMA-48, CUP and ED).
const clearScreen = "\x1b[H\x1b[2J"

// watchStatus shows the status of the mount at dir now and at each tick, until a signal or the end
// of the mount. On a terminal each status replaces the one before; as JSON each is a line.
func watchStatus(c *cli.Context, dir string, ticks <-chan time.Time) error {
	w := &watch{dir: dir, out: c.App.Writer, json: c.Bool("json"), screen: command.IsTerminal(c.App.Writer)}
	for {
		if err := w.show(time.Now()); err != nil {
			return err
		}
		select {
		case <-c.Done():
			return nil
		case <-ticks:
		}
	}
}

// watch is the state between two statuses.
type watch struct {
	dir    string
	out    io.Writer
	json   bool
	screen bool // out is a terminal

	last           time.Time // zero before the first one
	requests       int64
	sent, received int64
}

// show reads and prints one status, with one write so that the screen does not flicker.
func (w *watch) show(now time.Time) error {
	text, status, err := mounted.Status(w.dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	switch {
	case w.json:
		if err := json.Compact(&b, text); err != nil {
			return fmt.Errorf("the mount at %s answers with something else than a status: %w", w.dir, err)
		}
		b.WriteByte('\n')
	default:
		if w.screen {
			b.WriteString(clearScreen)
		}
		if err := printStatus(&b, w.dir, status); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s  %s\n", now.Local().Format(time.DateTime), w.pace(now, status))
	}
	_, err = w.out.Write(b.Bytes())
	return err
}

// pace is the change since the last status.
func (w *watch) pace(now time.Time, status *fs.Status) string {
	sent, received := traffic(status.Requests)
	requests := int64(0)
	for i := range status.Requests {
		requests += status.Requests[i].Requests
	}
	text := "Ctrl-C ends this"
	if !w.last.IsZero() && !status.Partial {
		seconds := max(now.Sub(w.last).Seconds(), 1e-3)
		per := func(now, before int64) float64 { return float64(now-before) / seconds }
		text = fmt.Sprintf("%.0f requests, %s sent, %s received a second", per(requests, w.requests),
			command.Size(int64(per(sent, w.sent))), command.Size(int64(per(received, w.received))))
	}
	w.last, w.requests, w.sent, w.received = now, requests, sent, received
	return text
}

// onlyFirst is text in the first row of a group of rows, else empty.
func onlyFirst(i int, text string) string {
	if i > 0 {
		return ""
	}
	return text
}
