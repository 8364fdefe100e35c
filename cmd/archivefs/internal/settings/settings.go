package settings

import (
	"cmp"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

// Group is a group of the options of mount, with its heading.
type Group struct {
	Title string
	Flags []cli.Flag
}

// Groups are all options of mount.
func Groups() []Group {
	return []Group{
		{"The service", serviceFlags()},
		{"Credentials", command.CredentialFlags("send")},
		{"What the mount shows, and to whom", viewFlags()},
		{"What is kept on this machine", storeFlags()},
		{"How it runs", slices.Concat([]cli.Flag{
			running.MetricsFlag(),
			&cli.StringFlag{Name: "notify", EnvVars: command.Env("NOTIFY"), Value: "auto", Usage: "who is told that files cannot be archived, `MODE`: auto, you, by notifications of your desktop; none, nobody"},
			&cli.BoolFlag{Name: "daemon", EnvVars: command.Env("DAEMON"), Usage: "go to the background once the mount is usable; the exit status says whether it is"},
			command.ConfigFlag(),
			defaultMountpointFlag(),
			&cli.StringFlag{Name: "o", Usage: "`OPTIONS` as mount(8) has them, a,b=c: every long option, and ro"},
		}, running.LogFlags("debug"))},
	}
}

// Flags are all options of mount.
func Flags() (all []cli.Flag) {
	for _, g := range Groups() {
		all = append(all, g.Flags...)
	}
	return all
}

// serviceFlags are about the service, and how to call it.
func serviceFlags() []cli.Flag {
	return slices.Concat(command.ConnectionFlags(), []cli.Flag{
		&cli.BoolFlag{Name: "embedded", EnvVars: command.Env("EMBEDDED"), Usage: "mount the embedded service, as without --base-url"},
		command.DataFlag("keep the embedded service's archive in `DIR`"),
		&cli.BoolFlag{Name: "sample", EnvVars: command.Env("SAMPLE"), Usage: "fill an empty embedded archive with a sample office archive"},
		command.DrainFlag("wait at most `DURATION` for uploads after Ctrl-C, SIGTERM or umount; the next mount sends the rest"),
		&cli.StringFlag{Name: "upload-limit", EnvVars: command.Env("UPLOAD_LIMIT"), Value: "0", DefaultText: "none", Usage: "send at most so many bytes of contents a second, `RATE`, all connections together"},
		&cli.StringFlag{Name: "download-limit", EnvVars: command.Env("DOWNLOAD_LIMIT"), Value: "0", DefaultText: "none", Usage: "receive at most so many bytes of contents a second, `RATE`, all connections together"},
	})
}

// storeFlags are about files on this machine.
func storeFlags() []cli.Flag {
	return []cli.Flag{
		command.StateDirFlag(),
		&cli.StringFlag{
			Name: "identity", EnvVars: command.Env("IDENTITY"), DefaultText: "the user, the Cloud-ID or a hash of the API key",
			Usage: "whose what is kept on this machine is, `NAME`: it goes on with whatever credentials are sent under the same one",
		},
		&cli.StringFlag{Name: "cache-size", EnvVars: command.Env("CACHE_SIZE"), Value: "10GiB", Usage: "keep at most `SIZE` of contents that were read"},
		&cli.StringFlag{Name: "spool-size", EnvVars: command.Env("SPOOL_SIZE"), DefaultText: "what the disk allows", Usage: "let at most `SIZE` wait on this machine to be archived"},
		&cli.StringFlag{Name: "keep-free", EnvVars: command.Env("KEEP_FREE"), Value: "64MiB", Usage: "leave `SIZE` of the disk free of uploads, at most a sixteenth of it"},
		&cli.DurationFlag{Name: "ttl", EnvVars: command.Env("TTL"), Value: time.Minute, Usage: "trust a listing for `DURATION` before it is asked for again; with 0 not at all"},
		&cli.DurationFlag{Name: "watch", EnvVars: command.Env("WATCH"), Value: 30 * time.Second, Usage: "list folders in which somebody looked lately again every `DURATION`; with 0 never"},
		&cli.StringFlag{
			Name: "writes", EnvVars: command.Env("WRITES"), Value: "sync",
			Usage: "when close() returns, `MODE`: sync, when the archive has the file, or with the error; async, when it is safe on this machine",
		},
		&cli.DurationFlag{Name: "grace", EnvVars: command.Env("GRACE"), DefaultText: "0, at its close", Usage: "send a file or a folder when it was left alone for `DURATION`; until then it can be renamed, moved, written again and removed"},
		&cli.DurationFlag{Name: "default-grace", EnvVars: command.Env("DEFAULT_GRACE"), Usage: "--grace where nothing else sets it, `DURATION`"},
		&cli.StringFlag{Name: "local-names", EnvVars: command.Env("LOCAL_NAMES"), Usage: "`GLOBS` of further names that stay on this machine, comma-separated"},
		&cli.StringFlag{
			Name: "inbox-collision", EnvVars: command.Env("INBOX_COLLISION"), Value: "replace",
			Usage: "what a file becomes that is written under the name of one in an inbox, `MODE`: replace, its new content; number, a new document beside it",
		},
	}
}

// viewFlags are about what the mount shows, to whom, and what may be changed.
func viewFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "content", EnvVars: command.Env("CONTENT"), Value: "auto", Usage: "what a document's file holds, `MODE`: auto, original, pdf or data"},
		&cli.StringFlag{Name: "metadata-include", EnvVars: command.Env("METADATA_INCLUDE"), Usage: "metadata `KEYS` to list, comma-separated"},
		&cli.StringFlag{Name: "metadata-exclude", EnvVars: command.Env("METADATA_EXCLUDE"), Usage: "metadata `KEYS` not to list, comma-separated"},
		&cli.StringFlag{Name: "folder", EnvVars: command.Env("FOLDER"), Usage: "show only the folder or mandator at `PATH`, as the whole archive shows it, and what is below"},
		&cli.StringFlag{Name: "created-after", EnvVars: command.Env("CREATED_AFTER"), Usage: "show only documents created after `DATE`"},
		&cli.StringFlag{Name: "time-zone", EnvVars: command.Env("TIME_ZONE"), DefaultText: "local", Usage: "`ZONE` of the service's dates, as Europe/Berlin"},
		&cli.StringFlag{
			Name: "thumbnails", EnvVars: command.Env("THUMBNAILS"), Value: string(fs.ThumbnailsPreview),
			Usage: "where file managers get thumbnails from, `SOURCE`: preview, the service's previews; download, the documents; or none",
		},
		&cli.BoolFlag{Name: "windows-names", EnvVars: command.Env("WINDOWS_NAMES"), Usage: "show names that Windows cannot open in another form: with a dot or a blank at the end, and of devices"},
		&cli.BoolFlag{Name: "crawlers", EnvVars: command.Env("CRAWLERS"), Usage: "let search indexers, backup programs and virus scanners download documents"},
		&cli.StringFlag{Name: "crawler-names", EnvVars: command.Env("CRAWLER_NAMES"), Usage: "`NAMES` of further programs that download no document without --crawlers, comma-separated"},
		&cli.BoolFlag{Name: "allow-delete", EnvVars: command.Env("ALLOW_DELETE"), Usage: "let rm delete inbox documents"},
		&cli.BoolFlag{Name: "read-only", EnvVars: command.Env("READ_ONLY"), Usage: "refuse every change"},
		&cli.BoolFlag{Name: "nonempty", EnvVars: command.Env("NONEMPTY"), Usage: "mount over a directory that is not empty, and hide its files"},
		&cli.BoolFlag{Name: "noexec", EnvVars: command.Env("NOEXEC"), Usage: "let no program that is a document be run"},
		&cli.BoolFlag{Name: "nosymfollow", EnvVars: command.Env("NOSYMFOLLOW"), Usage: "let no symbolic link of the mount be followed"},
		&cli.StringFlag{Name: "context", EnvVars: command.Env("CONTEXT"), Usage: "the SELinux `LABEL` of all files, for root; as the next three it is ignored where SELinux is off"},
		&cli.StringFlag{Name: "fscontext", EnvVars: command.Env("FSCONTEXT"), Usage: "the SELinux `LABEL` of the file system"},
		&cli.StringFlag{Name: "defcontext", EnvVars: command.Env("DEFCONTEXT"), Usage: "the SELinux `LABEL` of files without one"},
		&cli.StringFlag{Name: "rootcontext", EnvVars: command.Env("ROOTCONTEXT"), Usage: "the SELinux `LABEL` of the mount point"},
		&cli.BoolFlag{Name: "allow-other", EnvVars: command.Env("ALLOW_OTHER"), Usage: "let other users in (needs user_allow_other in /etc/fuse.conf, or root)"},
		&cli.StringFlag{
			Name: "map-users", EnvVars: command.Env("MAP_USERS"), TakesFile: true,
			Usage: "let other users in, each with the credentials that `FILE` has for them, to see and change what the service permits them",
		},
		&cli.IntFlag{Name: "uid", EnvVars: command.Env("UID"), DefaultText: "you", Usage: "all files belong to the user `NUMBER`"},
		&cli.IntFlag{Name: "gid", EnvVars: command.Env("GID"), DefaultText: "yours", Usage: "all files belong to the group `NUMBER`"},
		&cli.StringFlag{Name: "fsname", EnvVars: command.Env("FSNAME"), DefaultText: "the address of the service", Usage: "show `NAME` as the source in the table of mounts"},
		&cli.StringFlag{Name: "umask", EnvVars: command.Env("UMASK"), Value: "077", Usage: "permission `BITS` to remove, octal"},
	}
}

// Mount are the validated options of mount.
type Mount struct {
	Chosen     *Choices
	Profile    string // empty for none
	Mountpoint string
	Folder     string // that alone is shown; empty: all
	// Word is the operand of Mountpoint if there is no such file and it could be the name of a profile, of which there is
	// none.
	Word      string
	Made      bool   // create the mount point if it is missing
	Nonempty  bool   // allow a mount point with files
	Metrics   string // address of the metrics; empty for none
	Notify    bool   // by notifications of the desktop, where there is one
	Embedded  bool
	Data      string
	Sample    bool
	StateDir  string
	Identity  string // by the user's word; empty for that of the credentials
	CacheSize int64
	SpoolSize int64 // 0: no bound
	KeepFree  int64
	Drain     time.Duration // how long the end of the mount waits for uploads
	Client    apiclient.Config
	Login     string  // where the credentials are stored; empty if options name them
	MapUsers  string  // the file that says who the users are; empty for none
	People    *People // what it says; nil without it
	Fs        fs.Options
}

// Read reads and validates all options before anything starts.
func Read(c *cli.Context) (*Mount, error) {
	files, err := ReadConfig(c)
	if err != nil {
		return nil, err
	}
	profile, mountpoint, err := mountOperands(c, files)
	if err != nil {
		return nil, err
	}
	all, err := Choose(c, files, profile)
	if err != nil {
		return nil, err
	}
	s, err := ReadOptions(c, profile)
	if err == nil {
		err = s.ReadPeople(c.Context)
	}
	if err == nil {
		err = ReadCaller(c, s) // which asks for credentials only when the other options are right
	}
	if err != nil {
		return nil, all.Blame(err)
	}
	s.Chosen, s.Nonempty = all, c.Bool("nonempty")
	s.Fs.ReadSearches = searchReader(ConfigPaths(c), profile)
	return s, s.readMountpoint(c, mountpoint)
}

// ReadOptions reads all options except the credentials and the file of --map-users.
func ReadOptions(c *cli.Context, profile string) (*Mount, error) {
	s := &Mount{Profile: profile}
	for _, read := range []func(*cli.Context, *Mount) error{readService, readCaches, readView, readOwner, readMapUsers, readReports} {
		if err := read(c, s); err != nil {
			return nil, err
		}
	}
	_, _, err := running.ReadLog(c)
	return s, err
}

// mountOperands reads [PROFILE] MOUNTPOINT. A single operand is a profile, if there is one of that
// name, and the mount point is empty.
func mountOperands(c *cli.Context, files config.Files) (profile, mountpoint string, err error) {
	switch {
	case slices.Contains(c.Args().Slice(), ""):
		return "", "", WantPlace(files, "")
	case c.NArg() == 1 && files.Has(c.Args().First()):
		return c.Args().First(), "", nil
	case c.NArg() == 1:
		return "", c.Args().First(), WantPlace(files, c.Args().First())
	case c.NArg() == 2 && files.Has(c.Args().First()):
		return c.Args().First(), c.Args().Get(1), nil
	case c.NArg() == 2:
		return "", "", NoProfile(files, c.Args().First(), "; mount takes one MOUNTPOINT, and a PROFILE before it")
	}
	if c.NArg() == 0 {
		return "", "", config.Usagef("mount needs the directory to mount at, as in archivefs mount ~/Archive, or a profile that names one")
	}
	return "", "", config.Usagef("mount takes a PROFILE and a MOUNTPOINT at most, and was given %d operands", c.NArg())
}

// readService reads the service and how to call it.
func readService(c *cli.Context, s *Mount) error {
	s.Embedded, s.Data, s.Sample = c.Bool("embedded"), c.String("data"), c.Bool("sample")
	url := c.String("base-url")
	switch {
	case url == "":
		s.Embedded = true
	case s.Embedded:
		return config.WrongTogether("%s and %s exclude each other", "embedded", "base-url")
	case s.Data != "" || s.Sample:
		return config.WrongTogether("%s and %s are for the embedded service; leave %s out to use it", "data", "sample", "base-url")
	}
	if !s.Embedded {
		if _, err := apiclient.Address(url); err != nil {
			return WrongSetting(err)
		}
	}
	zone, err := config.Zone("time-zone", c.String("time-zone"))
	if err != nil {
		return err
	}
	switch {
	case c.Int("connections") < 1:
		return config.WrongOption("connections", "at least one request must be in flight")
	case c.Duration("retry-for") < 0:
		return config.WrongOption("retry-for", "a duration is not negative")
	case c.Duration("timeout") <= 0:
		return config.WrongOption("timeout", "a request needs some time; write for example 30s")
	}
	up, uerr := config.Rate("upload-limit", c.String("upload-limit"))
	down, derr := config.Rate("download-limit", c.String("download-limit"))
	if err := cmp.Or(uerr, derr); err != nil {
		return err
	}
	s.Client = apiclient.Config{
		BaseURL: url, Connections: c.Int("connections"), RetryFor: c.Duration("retry-for"), Stall: c.Duration("timeout"), Location: zone,
		UploadLimit: up, DownloadLimit: down, Proxy: c.String("proxy"), CAFile: c.String("ca-file"), CertFile: c.String("client-cert"), KeyFile: c.String("client-key"),
		UserAgent: "archivefs/" + command.Version(), Person: fs.Person,
	}
	s.Fs.ReadAhead = s.Client.Connections / 2 // the others are for requests that a user waits for
	if s.Client.RetryFor == 0 {
		s.Client.RetryFor = -1 // never repeat; 0 would be the client's default
	}
	if (s.Client.CertFile == "") != (s.Client.KeyFile == "") {
		return config.WrongTogether("%s and %s go together: give both or none", "client-cert", "client-key")
	}
	return nil
}

// readReports reads who is told how the mount is.
func readReports(c *cli.Context, s *Mount) error {
	s.Metrics, s.Notify = c.String("metrics"), c.String("notify") == "auto"
	return cmp.Or(running.CheckMetrics(s.Metrics), config.Choice("notify", c.String("notify"), "auto", "none"))
}

func readCaches(c *cli.Context, s *Mount) error {
	s.StateDir, s.Identity = c.String("state-dir"), c.String("identity")
	if strings.ContainsFunc(s.Identity, unicode.IsControl) {
		return config.WrongOption("identity", "a name holds no line breaks or other control characters")
	}
	var err error
	if s.CacheSize, err = config.Size("cache-size", c.String("cache-size")); err != nil {
		return err
	}
	if size := c.String("spool-size"); size != "" {
		if s.SpoolSize, err = config.Size("spool-size", size); err != nil {
			return err
		}
		if s.SpoolSize == 0 {
			return config.WrongOption("spool-size", "nothing could be written; leave it out for no bound")
		}
	}
	if s.KeepFree, err = config.Size("keep-free", c.String("keep-free")); err != nil {
		return err
	}
	if c.Duration("ttl") < 0 {
		return config.WrongOption("ttl", "a duration is not negative")
	}
	s.Fs.Watch = c.Duration("watch")
	if s.Fs.Watch < 0 || s.Fs.Watch > 0 && s.Fs.Watch < time.Second {
		return config.WrongOption("watch", "it is a second at least, or 0 for never")
	}
	s.Fs.TTL = max(c.Duration("ttl"), time.Nanosecond) // 0 has a meaning
	s.Fs.RetryFor = c.Duration("retry-for")
	if s.Drain, err = command.ReadDrain(c); err != nil {
		return err
	}
	s.Fs.Async, s.Fs.Number = c.String("writes") == "async", c.String("inbox-collision") == "number"
	if err := config.Choice("writes", c.String("writes"), "sync", "async"); err != nil {
		return err
	}
	s.Fs.Grace = c.Duration("grace")
	if !c.IsSet("grace") {
		s.Fs.Grace = c.Duration("default-grace")
	}
	if s.Fs.Grace < 0 {
		return config.WrongOption("grace", "a duration is not negative")
	}
	if s.Fs.LocalNames, err = fs.NewLocalNames(config.List(c.String("local-names"))); err != nil {
		return config.WrongOption("local-names", "%v", err)
	}
	return config.Choice("inbox-collision", c.String("inbox-collision"), "replace", "number")
}

func readView(c *cli.Context, s *Mount) error {
	s.Fs.Mode, s.Fs.Thumbnails = fs.ContentMode(c.String("content")), fs.Thumbnails(c.String("thumbnails"))
	if err := config.Choice("content", string(s.Fs.Mode), string(fs.ContentAuto), string(fs.ContentOriginal), string(fs.ContentPDF), string(fs.ContentData)); err != nil {
		return err
	}
	after, err := config.Date("created-after", c.String("created-after"), s.Client.Location)
	if err != nil {
		return err
	}
	s.Fs.List = archive.ListOptions{
		IncludeMetadata: config.List(c.String("metadata-include")),
		ExcludeMetadata: config.List(c.String("metadata-exclude")),
		CreatedAfter:    after,
	}
	s.Folder, s.Fs.MountSource = c.String("folder"), c.String("fsname")
	s.Fs.VolumeName = cmp.Or(s.Profile, "Archive")
	s.Fs.Crawlers, s.Fs.CrawlerNames, s.Fs.WindowsNames = c.Bool("crawlers"), config.List(c.String("crawler-names")), c.Bool("windows-names")
	s.Fs.AllowDelete, s.Fs.ReadOnly, s.Fs.AllowOther = c.Bool("allow-delete"), c.Bool("read-only"), c.Bool("allow-other")
	s.Fs.MountOptions = kernelOptions(c)
	return config.Choice("thumbnails", string(s.Fs.Thumbnails), string(fs.ThumbnailsPreview), string(fs.ThumbnailsDownload), string(fs.ThumbnailsNone))
}

// kernelOptions are options for the kernel. It refuses labels, which may have commas, if it has no SELinux:
// mount(8) leaves them out there.
func kernelOptions(c *cli.Context) (options []string) {
	for _, option := range []string{"noexec", "nosymfollow"} {
		if c.Bool(option) {
			options = append(options, option)
		}
	}
	_, err := os.Stat(doctor.SELinuxFS + "/enforce")
	for _, label := range []string{"context", "fscontext", "defcontext", "rootcontext"} {
		if value := c.String(label); value != "" && err == nil {
			options = append(options, label+`="`+value+`"`)
		}
	}
	return options
}

// readOwner reads owner and permissions of the files.
func readOwner(c *cli.Context, s *Mount) error {
	var err error
	if s.Fs.UID, err = owner(c, "uid", os.Getuid()); err != nil {
		return err
	}
	if s.Fs.GID, err = owner(c, "gid", os.Getgid()); err != nil {
		return err
	}
	mask, err := strconv.ParseUint(c.String("umask"), 8, 32)
	if err != nil || mask > 0o777 {
		return config.WrongOption("umask", "%q is no octal number of up to 777", c.String("umask"))
	}
	s.Fs.Umask = uint32(mask)
	return nil
}

// readMapUsers reads whether users have credentials of their own. Those users are let in, and the service
// decides what they may do.
func readMapUsers(c *cli.Context, s *Mount) error {
	path := c.String("map-users")
	switch {
	case path == "":
		return nil
	case s.Embedded:
		return config.WrongTogether("%s needs %s, as the embedded service has no users; archivefs serve is a service that has", "map-users", "base-url")
	}
	var err error
	if s.MapUsers, err = filepath.Abs(path); err != nil { // it is read again later
		return err
	}
	s.Fs.AllowOther = true
	if !c.IsSet("umask") {
		s.Fs.Umask = 0
	}
	return nil
}

// ReadPeople reads the file of --map-users, if there is one.
func (s *Mount) ReadPeople(ctx context.Context) (err error) {
	if s.MapUsers != "" {
		s.People, err = ReadPeople(ctx, s.MapUsers)
	}
	return err
}

// owner is the value of --uid or --gid, by default that of the process.
func owner(c *cli.Context, name string, own int) (uint32, error) {
	n := c.Int(name)
	if !c.IsSet(name) {
		n = own
	}
	if n < 0 || n > math.MaxUint32-1 {
		return 0, config.WrongOption(name, "%d is no user or group number", n)
	}
	return uint32(n), nil
}
