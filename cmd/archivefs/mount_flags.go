package main

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
)

// mountFlags are all options of mount.
func mountFlags() []cli.Flag {
	return slices.Concat(serviceFlags(), storeFlags(), viewFlags(), profileFlags(), []cli.Flag{
		metricsFlag(),
		&cli.BoolFlag{Name: "daemon", EnvVars: env("DAEMON"), Usage: "go to the background once the mount is usable; the exit status says whether it is"},
		configFlag(),
		defaultMountpointFlag(),
		&cli.StringFlag{Name: "o", Usage: "`OPTIONS` as mount(8) has them, a,b=c: every long option, and ro"},
	}, credentialFlags("send"), logFlags("debug"))
}

// serviceFlags say which service is mounted and how it is asked.
func serviceFlags() []cli.Flag {
	return slices.Concat(connectionFlags(), []cli.Flag{
		&cli.BoolFlag{Name: "embedded", EnvVars: env("EMBEDDED"), Usage: "mount the embedded service, as without --base-url"},
		dataFlag(),
		&cli.BoolFlag{Name: "sample", EnvVars: env("SAMPLE"), Usage: "fill an empty embedded archive with a sample office archive"},
		drainFlag(),
	})
}

// connectionFlags say where a service is and how it is asked.
func connectionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "base-url", EnvVars: env("BASE_URL"), Usage: "the archive service at `URL`; /api/v2 is appended when it is missing"},
		&cli.DurationFlag{Name: "retry-for", EnvVars: env("RETRY_FOR"), Value: 3 * time.Second, Usage: "repeat a call for `DURATION` before it fails"},
		&cli.DurationFlag{Name: "timeout", EnvVars: env("TIMEOUT"), Value: apiclient.DefaultStall, Usage: "give a request up that is not answered within `DURATION`, or moves less than 1 KiB a second of a content for so long"},
		&cli.IntFlag{Name: "connections", EnvVars: env("CONNECTIONS"), Value: 16, Usage: "have at most `N` requests in flight"},
		&cli.StringFlag{Name: "ca-file", EnvVars: env("CA_FILE"), TakesFile: true, Usage: "trust the certificates in `FILE` beside the system's"},
		&cli.StringFlag{Name: "client-cert", EnvVars: env("CLIENT_CERT"), TakesFile: true, Usage: "show the service the client certificate in `FILE`"},
		&cli.StringFlag{Name: "client-key", EnvVars: env("CLIENT_KEY"), TakesFile: true, Usage: "key of the client certificate in `FILE`"},
	}
}

// dataFlag says where the embedded service keeps its archive.
func dataFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "data", EnvVars: env("DATA"), TakesFile: true, DefaultText: "archivefs in the XDG data home",
		Usage: "keep the embedded service's archive in `DIR`",
	}
}

// stateDirFlag says where what belongs to one archive is kept.
func stateDirFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "state-dir", EnvVars: env("STATE_DIR"), TakesFile: true, DefaultText: "one per archive in the XDG state and cache homes",
		Usage: "keep what waits to be archived, and the caches, in `DIR`",
	}
}

// storeFlags say what is kept on this machine.
func storeFlags() []cli.Flag {
	return []cli.Flag{
		stateDirFlag(),
		&cli.StringFlag{Name: "cache-size", EnvVars: env("CACHE_SIZE"), Value: "10GiB", Usage: "keep at most `SIZE` of contents that were read"},
		&cli.StringFlag{Name: "spool-size", EnvVars: env("SPOOL_SIZE"), DefaultText: "what the disk allows", Usage: "let at most `SIZE` wait on this machine to be archived"},
		&cli.StringFlag{Name: "keep-free", EnvVars: env("KEEP_FREE"), Value: "64MiB", Usage: "leave `SIZE` of the disk free of uploads, at most a sixteenth of it"},
		&cli.DurationFlag{Name: "ttl", EnvVars: env("TTL"), Value: time.Minute, Usage: "trust a listing for `DURATION` before it is asked for again; with 0 not at all"},
		&cli.StringFlag{
			Name: "writes", EnvVars: env("WRITES"), Value: "sync",
			Usage: "when close() returns, `MODE`: sync, when the archive has the file, or with the error; async, when it is safe on this machine",
		},
	}
}

// viewFlags say what the mount shows, to whom, and what may be changed.
func viewFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "content", EnvVars: env("CONTENT"), Value: "auto", Usage: "what a document's file holds, `MODE`: auto, original, pdf or data"},
		&cli.StringFlag{Name: "metadata-include", EnvVars: env("METADATA_INCLUDE"), Usage: "metadata `KEYS` to list, comma-separated"},
		&cli.StringFlag{Name: "metadata-exclude", EnvVars: env("METADATA_EXCLUDE"), Usage: "metadata `KEYS` not to list, comma-separated"},
		&cli.StringFlag{Name: "created-after", EnvVars: env("CREATED_AFTER"), Usage: "show only documents created after `DATE`"},
		&cli.StringFlag{Name: "time-zone", EnvVars: env("TIME_ZONE"), DefaultText: "local", Usage: "`ZONE` of the service's dates, as Europe/Berlin"},
		&cli.BoolFlag{Name: "thumbnails", EnvVars: env("THUMBNAILS"), Usage: "let file managers download documents to make thumbnails of them"},
		&cli.BoolFlag{Name: "allow-delete", EnvVars: env("ALLOW_DELETE"), Usage: "let rm delete inbox documents"},
		&cli.BoolFlag{Name: "read-only", EnvVars: env("READ_ONLY"), Usage: "refuse every change"},
		&cli.BoolFlag{Name: "nonempty", EnvVars: env("NONEMPTY"), Usage: "mount over a directory that is not empty, and hide what is in it"},
		&cli.BoolFlag{Name: "noexec", EnvVars: env("NOEXEC"), Usage: "let no program that is a document be run"},
		&cli.BoolFlag{Name: "allow-other", EnvVars: env("ALLOW_OTHER"), Usage: "let other users in (needs user_allow_other in /etc/fuse.conf, or root)"},
		&cli.IntFlag{Name: "uid", EnvVars: env("UID"), DefaultText: "you", Usage: "all files belong to the user `NUMBER`"},
		&cli.IntFlag{Name: "gid", EnvVars: env("GID"), DefaultText: "yours", Usage: "all files belong to the group `NUMBER`"},
		&cli.StringFlag{Name: "fsname", EnvVars: env("FSNAME"), DefaultText: "the address of the service", Usage: "show `NAME` in the table of mounts as what is mounted"},
		&cli.StringFlag{Name: "umask", EnvVars: env("UMASK"), Value: "077", Usage: "permission `BITS` that nobody gets, octal"},
	}
}

// mountSettings are the validated options of mount.
type mountSettings struct {
	chosen     *choices
	profile    string // empty for none
	mountpoint string
	made       bool   // mountpoint is made when it is missing
	nonempty   bool   // hide what is in mountpoint
	metrics    string // address; empty for none
	embedded   bool
	data       string
	sample     bool
	stateDir   string
	cacheSize  int64
	spoolSize  int64 // 0 for no bound
	keepFree   int64
	drain      time.Duration // how long the end waits for uploads
	client     apiclient.Config
	login      string // where the credentials were stored; empty when options name them
	fs         fs.Options
}

// readMount reads and validates all options. Nothing is begun before they are right.
func readMount(c *cli.Context) (*mountSettings, error) {
	files, err := readConfig(c)
	if err != nil {
		return nil, err
	}
	profile, mountpoint, err := mountOperands(c, files)
	if err != nil {
		return nil, err
	}
	all, err := choose(c, files, profile)
	if err != nil {
		return nil, err
	}
	s, err := readSettings(c, profile)
	if err != nil {
		return nil, all.blame(err)
	}
	s.chosen, s.nonempty = all, c.Bool("nonempty")
	return s, s.readMountpoint(c, mountpoint)
}

// readSettings reads the options of which service is mounted and how. Nobody is asked for
// credentials before the others are right.
func readSettings(c *cli.Context, profile string) (*mountSettings, error) {
	s, err := readOptions(c, profile)
	if err != nil {
		return nil, err
	}
	return s, readCaller(c, s)
}

// readOptions reads all options but those of the credentials.
func readOptions(c *cli.Context, profile string) (*mountSettings, error) {
	s := &mountSettings{profile: profile}
	for _, read := range []func(*cli.Context, *mountSettings) error{readService, readCaches, readView, readOwner, readMetrics} {
		if err := read(c, s); err != nil {
			return nil, err
		}
	}
	_, _, err := readLog(c)
	return s, err
}

// mountOperands reads [PROFILE] MOUNTPOINT. A single one is the profile of that name, if
// there is one, which says where it is mounted; the mountpoint is empty then.
func mountOperands(c *cli.Context, files config.Files) (profile, mountpoint string, err error) {
	switch {
	case slices.Contains(c.Args().Slice(), ""):
		return "", "", wantPlace(files, "")
	case c.NArg() == 1 && files.Has(c.Args().First()):
		return c.Args().First(), "", nil
	case c.NArg() == 1:
		return "", c.Args().First(), wantPlace(files, c.Args().First())
	case c.NArg() == 2 && files.Has(c.Args().First()):
		return c.Args().First(), c.Args().Get(1), nil
	case c.NArg() == 2:
		return "", "", config.Usagef("there is no profile %q in the configuration%s; mount takes one MOUNTPOINT, and a PROFILE before it",
			c.Args().First(), config.Meant(c.Args().First(), files.Profiles()))
	}
	return "", "", config.Usagef("mount needs one MOUNTPOINT, and was given %d operands", c.NArg())
}

func readService(c *cli.Context, s *mountSettings) error {
	s.embedded, s.data, s.sample = c.Bool("embedded"), c.String("data"), c.Bool("sample")
	url := c.String("base-url")
	switch {
	case url == "":
		s.embedded = true
	case s.embedded:
		return config.WrongTogether("%s and %s exclude each other", "embedded", "base-url")
	case s.data != "" || s.sample:
		return config.WrongTogether("%s and %s are for the embedded service; leave %s out to use it", "data", "sample", "base-url")
	}
	if !s.embedded {
		if _, err := apiclient.Address(url); err != nil {
			return wrongSetting(err)
		}
	}
	zone, err := config.Zone("time-zone", c.String("time-zone"))
	if err != nil {
		return err
	}
	if c.Int("connections") < 1 {
		return config.WrongOption("connections", "at least one request must be in flight")
	}
	if c.Duration("retry-for") < 0 {
		return config.WrongOption("retry-for", "a duration is not negative")
	}
	if c.Duration("timeout") <= 0 {
		return config.WrongOption("timeout", "a request needs some time; write for example 30s")
	}
	s.client = apiclient.Config{
		BaseURL: url, Connections: c.Int("connections"), RetryFor: c.Duration("retry-for"), Stall: c.Duration("timeout"), Location: zone,
		CAFile: c.String("ca-file"), CertFile: c.String("client-cert"), KeyFile: c.String("client-key"),
		UserAgent: "archivefs/" + version(),
	}
	s.fs.ReadAhead = s.client.Connections / 2 // the others are for what somebody waits for
	if s.client.RetryFor == 0 {
		s.client.RetryFor = -1 // nothing is repeated; 0 is the client's default
	}
	if (s.client.CertFile == "") != (s.client.KeyFile == "") {
		return config.WrongTogether("%s and %s go together: give both or none", "client-cert", "client-key")
	}
	return nil
}

func readCaches(c *cli.Context, s *mountSettings) error {
	s.stateDir = c.String("state-dir")
	var err error
	if s.cacheSize, err = config.Size("cache-size", c.String("cache-size")); err != nil {
		return err
	}
	if size := c.String("spool-size"); size != "" {
		if s.spoolSize, err = config.Size("spool-size", size); err != nil {
			return err
		}
		if s.spoolSize == 0 {
			return config.WrongOption("spool-size", "nothing could be written; leave it out for no bound")
		}
	}
	if s.keepFree, err = config.Size("keep-free", c.String("keep-free")); err != nil {
		return err
	}
	if c.Duration("ttl") < 0 {
		return config.WrongOption("ttl", "a duration is not negative")
	}
	s.fs.TTL = max(c.Duration("ttl"), time.Nanosecond) // 0 is no default
	s.fs.RetryFor = c.Duration("retry-for")
	if s.drain, err = readDrain(c); err != nil {
		return err
	}
	switch w := c.String("writes"); w {
	case "sync", "async":
		s.fs.Async = w == "async"
	default:
		return config.WrongOption("writes", "%q is neither sync nor async", w)
	}
	return nil
}

func readView(c *cli.Context, s *mountSettings) error {
	switch m := fs.ContentMode(c.String("content")); m {
	case fs.ContentAuto, fs.ContentOriginal, fs.ContentPDF, fs.ContentData:
		s.fs.Mode = m
	default:
		return config.WrongOption("content", "%q is none of auto, original, pdf, data", m)
	}
	after, err := config.Date("created-after", c.String("created-after"), s.client.Location)
	if err != nil {
		return err
	}
	s.fs.List = archive.ListOptions{
		IncludeMetadata: config.List(c.String("metadata-include")),
		ExcludeMetadata: config.List(c.String("metadata-exclude")),
		CreatedAfter:    after,
	}
	s.fs.MountSource = c.String("fsname")
	s.fs.VolumeName = cmp.Or(s.profile, "Archive")
	s.fs.Thumbnails = c.Bool("thumbnails")
	s.fs.AllowDelete, s.fs.ReadOnly, s.fs.AllowOther = c.Bool("allow-delete"), c.Bool("read-only"), c.Bool("allow-other")
	if c.Bool("noexec") {
		s.fs.MountOptions = []string{"noexec"}
	}
	return nil
}

// readOwner reads who owns the files and what others may do with them.
func readOwner(c *cli.Context, s *mountSettings) error {
	var err error
	if s.fs.UID, err = owner(c, "uid", os.Getuid()); err != nil {
		return err
	}
	if s.fs.GID, err = owner(c, "gid", os.Getgid()); err != nil {
		return err
	}
	mask, err := strconv.ParseUint(c.String("umask"), 8, 32)
	if err != nil || mask > 0o777 {
		return config.WrongOption("umask", "%q is no octal number of up to 777", c.String("umask"))
	}
	s.fs.Umask = uint32(mask)
	return nil
}

// owner is the value of --uid or --gid, the process's own when it is not given.
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
