// Package serve is the command that runs the embedded archive service on its own.
package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/durable"
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
			command.DataFlag(),
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

// collectAfter is GOGC of a service, in percent. It uses little memory, so it would collect garbage
// every few uploads.
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
	r, err := newServed(c, log)
	if err != nil {
		return err
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
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("keep an API key: %w", err)
	}
	key := rand.Text()
	if err := durable.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
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
