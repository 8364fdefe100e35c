// Package serve is the command that runs the embedded archive service on its own.
package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/certificate"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/metrics"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Command is the command serve.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "run the embedded archive service on its own",
		Description: "Serves the archive in --data at --listen, below /api/v2. It accepts the credentials of the\n" +
			"options, and the API keys and users of archivefs admin. Where there is no key at all, it makes\n" +
			"one of its own and keeps it beside the archive; the first lines of output say where.\n\n" +
			"   archivefs serve --sample --data ./office\n" +
			"   archivefs mount --base-url http://127.0.0.1:8081 --api-key-file ./office/api-key ~/Archive",
		Flags: slices.Concat([]cli.Flag{
			command.DataFlag("keep the embedded service's archive in `DIR`"),
			&cli.StringFlag{Name: "listen", EnvVars: command.Env("LISTEN"), Value: "127.0.0.1:8081", Usage: "listen at `ADDRESS`; port 0 takes a free one"},
			&cli.BoolFlag{Name: "sample", EnvVars: command.Env("SAMPLE"), Usage: "fill an empty archive with a sample office archive"},
			&cli.StringFlag{Name: "max-upload", EnvVars: command.Env("MAX_UPLOAD"), Value: "10GiB", Usage: "take files of at most `SIZE`"},
			&cli.BoolFlag{Name: "only-eight", Usage: "serve only the eight operations of the specification"},
			&cli.BoolFlag{Name: "no-sizes", Usage: "leave sizes and content types out of document lists"},
			&cli.BoolFlag{Name: "no-head", Usage: "refuse HEAD of contents"},
			&cli.BoolFlag{Name: "no-range", Usage: "answer every content whole"},
		}, databaseFlags(), runFlags(), command.CredentialFlags("ask for"), running.LogFlags("info")),
		Action: serve,
	}
}

// collectAfter is GOGC of a service, in percent. It uses little memory, so it would collect garbage every few uploads.
const collectAfter = 400

func serve(c *cli.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAfter)
	}
	options, err := readServe(c)
	if err != nil {
		return err
	}
	log, err := running.NewLog(c)
	if err != nil {
		return err
	}
	options.Log = log
	if err := config.LocalZone(); err != nil {
		log.Warn(err)
	}
	r := &served{manager: &running.Manager{Log: log}, attended: running.HasTerminal()}
	if c.String("tls-cert") != "" { // a wrong one is reported before anything is created
		if r.certificate, err = certificate.Open(c.String("tls-cert"), c.String("tls-key"), log); err != nil {
			return err
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(c.Context, "tcp", c.String("listen")) // before anything is created
	if err != nil {
		return fmt.Errorf("--listen: %w; name another address, or port 0 for a free one", err)
	}
	defer ln.Close() //nolint:errcheck // it is closed already, unless something else failed
	what, kept, err := archiveName(options)
	if err != nil {
		return err
	}
	srv, err := server.Open(c.Context, options)
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	keyFile, err := letIn(c.Context, srv, &options)
	if err == nil {
		err = running.Fill(c.Context, srv, c.Bool("sample"), log)
	}
	if err == nil {
		r.server = srv
		if keyFile != "" {
			kept = append(kept, "API key in "+keyFile)
		}
		err = r.at(c, ln, what, kept...)
	}
	if cerr := srv.Close(); cerr != nil {
		return errors.Join(err, fmt.Errorf("close archive: %w", cerr))
	}
	return err
}

// readServe validates the options before anything starts.
func readServe(c *cli.Context) (o server.Options, err error) {
	if o.MaxUpload, err = config.Size("max-upload", c.String("max-upload")); err != nil {
		return o, err
	}
	if _, _, err := net.SplitHostPort(c.String("listen")); err != nil {
		return o, config.WrongOption("listen", "%q is no address; write for example 127.0.0.1:8081", c.String("listen"))
	}
	if o.Data, err = config.DataDir(c.String("data")); err != nil {
		return o, err
	}
	cred, err := command.ReadCredentials(c)
	if err != nil {
		return o, err
	}
	o.OnlyEight, o.HideSizes, o.NoHead, o.NoRange = c.Bool("only-eight"), c.Bool("no-sizes"), c.Bool("no-head"), c.Bool("no-range")
	if err := readRun(c, &o); err != nil {
		return o, err
	}
	if (cred.User == "") != (cred.Password == "") {
		return o, config.WrongTogether("%s and %s go together", "user", "password")
	}
	o.Credentials = server.Credentials{APIKey: cred.APIKey, CloudID: cred.CloudID, User: cred.User, Password: cred.Password}
	return o, readDatabase(c, &o)
}

// letIn makes the service accept a key of its own if neither the options nor the archive have one,
// and returns the file with the key, empty for none.
func letIn(ctx context.Context, srv *server.Server, options *server.Options) (keyFile string, err error) {
	if options.Credentials.APIKey != "" {
		return "", nil
	}
	keyFile = filepath.Join(options.Data, "api-key")
	some, err := srv.HasKeys(ctx)
	if err != nil {
		return "", err
	}
	if !some && options.Database != "" {
		return "", errors.New("no instance makes an API key of its own for a --database; " +
			"add one with archivefs admin keys add, or give all instances the same one with --api-key-file")
	}
	if some {
		if _, err := os.Stat(keyFile); err == nil {
			options.Log.Warnf("the key in %s is not accepted any more: the archive has keys of its own, as archivefs admin keys list shows", keyFile)
		}
		return "", nil
	}
	key, err := ownKey(keyFile)
	if err == nil {
		srv.AcceptKey(key)
	}
	return keyFile, err
}

// ownKey reads the key in the data directory, and creates it the first time.
func ownKey(path string) (string, error) {
	if _, err := os.Stat(path); err == nil {
		return config.SecretFile("api-key-file", path)
	}
	key := rand.Text()
	err := durable.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = durable.WriteFile(path, []byte(key+"\n"), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keep an API key: %w", err)
	}
	return key, nil
}

// databaseFlags name database and contents, if they are not in --data.
func databaseFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "database", EnvVars: command.Env("DATABASE"), Usage: "keep the database in the PostgreSQL at `URL` instead of --data, for several instances to use; " +
			"its password can come from PGPASSWORD or ~/.pgpass"},
		&cli.StringFlag{Name: "database-file", EnvVars: command.Env("DATABASE_FILE"), TakesFile: true, Usage: "keep the database in the PostgreSQL at the URL in `FILE`"},
		&cli.StringFlag{Name: "blobs", EnvVars: command.Env("BLOBS"), Usage: "with --database: keep contents in a bucket with the S3 interface at `ADDRESS`, as s3://archive/office?endpoint=https://s3.example.com, " +
			"instead of --data; the keys for it come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or where programs for S3 have them"},
	}
}

// archiveName names the served archive and its place, without secrets.
func archiveName(o server.Options) (name string, kept []string, err error) {
	if o.Database == "" {
		return o.Data, nil, nil
	}
	database, err := store.NamePostgres(o.Database)
	contents := o.Data
	if err == nil && o.Blobs != "" {
		var address blob.Address
		address, err = blob.ParseAddress(o.Blobs)
		contents = archive.Printable(address.Name())
	}
	return "the archive", []string{"kept in " + database + ", contents in " + contents}, err
}

// readDatabase reads them.
func readDatabase(c *cli.Context, o *server.Options) (err error) {
	if o.Database, err = command.Secret(c, "database"); err != nil {
		return err
	}
	if o.Blobs = c.String("blobs"); o.Blobs != "" {
		if o.Database == "" {
			return config.WrongTogether("%s needs %s: an archive in %s has its contents there, too", "blobs", "database", "data")
		}
		if _, err := blob.ParseAddress(o.Blobs); err != nil {
			return config.WrongOption("blobs", "%v", err)
		}
	}
	return nil
}

// runFlags are the options of how the service runs.
func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "tls-cert", EnvVars: command.Env("TLS_CERT"), TakesFile: true, Usage: "speak TLS with the certificate in `FILE`, behind which those between it and its authority stand; goes with --tls-key"},
		&cli.StringFlag{Name: "tls-key", EnvVars: command.Env("TLS_KEY"), TakesFile: true, Usage: "its key, in `FILE`; both are read again when they change"},
		running.MetricsFlag(),
		&cli.IntFlag{Name: "max-requests", EnvVars: command.Env("MAX_REQUESTS"), Value: server.DefaultMaxRequests, Usage: "answer `N` requests at a time; further ones wait"},
		&cli.IntFlag{Name: "max-uploads", EnvVars: command.Env("MAX_UPLOADS"), Value: server.DefaultMaxUploads, Usage: "take `N` uploads at a time; further ones wait"},
		&cli.DurationFlag{Name: "stall", EnvVars: command.Env("STALL"), Value: server.DefaultStall, Usage: "end a request whose client is slower than 1 KiB/s for `DURATION`"},
		&cli.DurationFlag{Name: "drain-delay", EnvVars: command.Env("DRAIN_DELAY"), Usage: "at the end report not ready for `DURATION` but still answer, for a load balancer"},
		&cli.DurationFlag{Name: "drain", EnvVars: command.Env("DRAIN"), Value: server.DefaultDrain, Usage: "wait at most `DURATION` for requests under way at the end"},
	}
}

// readRun reads them.
func readRun(c *cli.Context, o *server.Options) error {
	o.MaxRequests, o.MaxUploads = c.Int("max-requests"), c.Int("max-uploads")
	for _, name := range []string{"max-requests", "max-uploads"} {
		if c.Int(name) < 1 {
			return config.WrongOption(name, "at least one is let in")
		}
	}
	o.Stall, o.DrainDelay, o.Drain = c.Duration("stall"), c.Duration("drain-delay"), c.Duration("drain")
	if o.Stall <= 0 {
		return config.WrongOption("stall", "a duration is needed, for example 30s")
	}
	if o.DrainDelay < 0 || o.Drain < 0 {
		return config.WrongTogether("%s and %s: a duration is not negative", "drain", "drain-delay")
	}
	if o.Drain == 0 {
		o.Drain = -1 // 0 stands for no option
	}
	if (c.String("tls-cert") == "") != (c.String("tls-key") == "") {
		return config.WrongTogether("%s and %s go together", "tls-cert", "tls-key")
	}
	return running.CheckMetrics(c.String("metrics"))
}

// served is the running service.
type served struct {
	server      *server.Server
	manager     *running.Manager
	certificate *certificate.Certificate // nil without TLS
	attended    bool                     // there was a terminal at the start
}

// at prints the addresses and serves until the end. Further messages are lines of their own.
func (r *served) at(c *cli.Context, ln net.Listener, what string, more ...string) error {
	at, open := reachable(ln.Addr())
	scheme := "http"
	if r.certificate != nil {
		scheme, ln = "https", tls.NewListener(ln, r.certificate.Config())
	} else if open {
		r.manager.Log.Warn("other machines can reach the service, and it has no TLS: credentials and documents can be read on the way; " +
			"name a certificate with --tls-cert, or listen at 127.0.0.1, behind a proxy with TLS")
	}
	hide, err := r.showMetrics(c.Context, c.String("metrics"))
	if err != nil {
		return err
	}
	lines := append([]string{fmt.Sprintf("serving %s at %s://%s/api/v2", what, scheme, at)}, more...)
	if _, err := fmt.Fprintln(c.App.Writer, strings.Join(lines, "\n")); err != nil {
		return errors.Join(err, hide())
	}
	return errors.Join(r.serve(c.Context, ln, at), hide())
}

// serve serves until ctx is done, or the terminal is closed.
func (r *served) serve(ctx context.Context, ln net.Listener, at string) error {
	ctx, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	attended := make(chan struct{})
	hangups := running.HearHangups(false)
	r.manager.Tell("serving at "+at, daemon.SdNotifyReady) // attend owns the manager from here on
	go func() {
		defer close(attended)
		r.attend(ctx, end, hangups, ended)
	}()
	err := r.server.Serve(ctx, ln)
	close(ended)
	<-attended
	end(nil)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// attend looks after a service until it has ended. The first signal starts the shutdown, a second one ends it at once.
func (r *served) attend(ctx context.Context, end context.CancelCauseFunc, hangups <-chan os.Signal, ended <-chan struct{}) {
	look := running.NewLook(func() error { return r.server.Ready(ctx) }, r.manager.Watchdog())
	defer look.End()
	for ctx.Err() == nil {
		select {
		case <-hangups:
			r.hangup(end)
		case <-look.Due:
			look.Begin()
		case err := <-look.Answer: // any status: the service answers
			look.Busy = false
			if err != nil {
				r.manager.Log.Warnf("not ready: %v", err)
			}
			r.manager.Alive()
		case <-ended:
			return
		case <-ctx.Done():
		}
	}
	hurry, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r.manager.Tell("finishing requests", daemon.SdNotifyStopping)
	select {
	case <-hurry.Done():
		r.manager.Log.Warnf("the service ends at once: %v", context.Cause(hurry))
		r.server.Cut()
	case <-ended:
	}
}

// hangup reloads the certificate, unless the terminal was closed.
func (r *served) hangup(end context.CancelCauseFunc) {
	switch {
	case r.attended && !running.HasTerminal():
		end(errors.New("the terminal that it was started from is gone"))
	case r.certificate != nil:
		r.certificate.Reload()
	}
}

// reachable is an address at which this machine reaches a listener at addr. open reports whether
// other machines can reach it, too.
func reachable(addr net.Addr) (at string, open bool) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return addr.String(), false
	}
	if tcp.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port)), true
	}
	return addr.String(), true
}

// showMetrics serves metrics at an address, if one is given, until the returned function is called.
func (r *served) showMetrics(ctx context.Context, address string) (hide func() error, err error) {
	if address == "" {
		return func() error { return nil }, nil
	}
	srv, err := running.ServeMetrics(ctx, address, metrics.Source{
		Families: func() []metrics.Family { return r.families(ctx) },
		Ready: func() (bool, string) {
			if err := r.server.Ready(ctx); err != nil {
				return false, err.Error()
			}
			return true, ""
		},
	}, r.manager.Log)
	if err != nil {
		return nil, err
	}
	return srv.Close, nil
}

// families are the metrics of a service. They contain no names of users, documents or folders.
func (r *served) families(ctx context.Context) []metrics.Family {
	ready := 1.0
	if r.server.Ready(ctx) != nil {
		ready = 0
	}
	all := []metrics.Family{
		running.BuildInfo(command.Version()),
		metrics.One(metrics.Gauge, "archivefs_server_ready", "Whether requests can be answered (1) or not (0).", ready),
	}
	if r.certificate != nil {
		all = append(all, metrics.One(metrics.Gauge, "archivefs_server_certificate_expiry_timestamp_seconds",
			"When the certificate ends, in seconds since 1970.", float64(r.certificate.Expiry().Unix())))
	}
	stats := r.server.Stats(ctx)
	all = append(all, operationFamilies(stats.Operations)...)
	all = append(all, loadFamilies(&stats)...)
	return append(all, databaseFamilies(&stats)...)
}

func operationFamilies(operations []server.OperationStats) []metrics.Family {
	labels := []string{"method", "route"}
	requests := metrics.Family{Name: "archivefs_server_requests_total", Help: "Requests that were answered, by the class of their status.", Labels: append(labels, "status")}
	received := metrics.Family{Name: "archivefs_server_received_bytes_total", Help: "Bytes of the bodies of requests.", Labels: labels}
	sent := metrics.Family{Name: "archivefs_server_sent_bytes_total", Help: "Bytes of the bodies of answers.", Labels: labels}
	times := metrics.Family{Name: "archivefs_server_request_duration_seconds", Help: "Time from the head of a request to the end of its answer.", Kind: metrics.Times, Labels: labels}
	for i := range operations {
		o := &operations[i]
		of := []string{cmp.Or(o.Method, "other"), cmp.Or(o.Route, "other")}
		for class, n := range o.Statuses[1:] {
			requests.Rows = append(requests.Rows, metrics.Row{Labels: append(slices.Clone(of), fmt.Sprintf("%dxx", class+2)), Value: float64(n)})
		}
		received.Rows = append(received.Rows, metrics.Row{Labels: of, Value: float64(o.Received)})
		sent.Rows = append(sent.Rows, metrics.Row{Labels: of, Value: float64(o.Sent)})
		times.Rows = append(times.Rows, metrics.Row{Labels: of, Times: metrics.Distribution{
			Bounds: archive.LatencyBounds[:], Counts: o.Latency[:], Sum: o.Total,
		}})
	}
	return []metrics.Family{requests, received, sent, times}
}

func loadFamilies(s *server.Stats) []metrics.Family {
	return []metrics.Family{
		metrics.By(metrics.Counter, "archivefs_server_refused_uploads_total", "Uploads that were not taken, by the problem that was answered.", "reason", s.Refused),
		metrics.By(metrics.Counter, "archivefs_server_denied_total", "Requests that were not let in, or not to what they asked for, by the reason in the log.", "reason", s.Denied),
		metrics.One(metrics.Gauge, "archivefs_server_folders", "Folders, mandators and inboxes included, as they were counted in the last minutes.", float64(s.Folders)),
		metrics.One(metrics.Gauge, "archivefs_server_documents", "Documents, as they were counted in the last minutes.", float64(s.Documents)),
		metrics.One(metrics.Gauge, "archivefs_server_requests_in_flight", "Requests under way.", float64(s.Requests)),
		metrics.One(metrics.Gauge, "archivefs_server_uploads_in_flight", "Uploads under way.", float64(s.Uploads)),
		metrics.One(metrics.Gauge, "archivefs_server_requests_waiting", "Requests that wait for their turn.", float64(s.Waiting)),
	}
}

func databaseFamilies(s *server.Stats) []metrics.Family {
	connections := metrics.Family{Name: "archivefs_server_database_connections", Help: "Connections to the database.", Kind: metrics.Gauge, Labels: []string{"pool", "state"}}
	waits := metrics.Family{Name: "archivefs_server_database_waits_total", Help: "How often a connection was waited for.", Labels: []string{"pool"}}
	waited := metrics.Family{Name: "archivefs_server_database_wait_seconds_total", Help: "How long connections were waited for.", Labels: []string{"pool"}}
	for _, pool := range slices.Sorted(maps.Keys(s.Databases)) {
		d := s.Databases[pool]
		connections.Rows = append(connections.Rows,
			metrics.Row{Labels: []string{pool, "used"}, Value: float64(d.InUse)}, metrics.Row{Labels: []string{pool, "idle"}, Value: float64(d.Idle)})
		waits.Rows = append(waits.Rows, metrics.Row{Labels: []string{pool}, Value: float64(d.WaitCount)})
		waited.Rows = append(waited.Rows, metrics.Row{Labels: []string{pool}, Value: d.WaitDuration.Seconds()})
	}
	return []metrics.Family{connections, waits, waited}
}
