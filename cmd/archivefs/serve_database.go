package main

import (
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// databaseFlags say where the service keeps its database and its contents, if not in --data.
func databaseFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "database", EnvVars: env("DATABASE"), Usage: "keep the database in the PostgreSQL at `URL` instead of --data, for several instances to use; " +
			"its password can come from PGPASSWORD or ~/.pgpass"},
		&cli.StringFlag{Name: "database-file", EnvVars: env("DATABASE_FILE"), TakesFile: true, Usage: "keep the database in the PostgreSQL at the URL in `FILE`"},
		&cli.StringFlag{Name: "blobs", EnvVars: env("BLOBS"), Usage: "with --database: keep contents in a bucket with the S3 interface at `ADDRESS`, as s3://archive/office?endpoint=https://s3.example.com, " +
			"instead of --data; the keys for it come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or where programs for S3 have them"},
	}
}

// archiveName says which archive is served and, where its name does not tell, in what it is kept, without
// secrets.
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
	if o.Database, err = secret(c, "database"); err != nil {
		return err
	}
	if o.Blobs = c.String("blobs"); o.Blobs != "" {
		if o.Database == "" {
			return config.Usagef("--blobs needs --database: an archive in --data has its contents there, too")
		}
		if _, err := blob.ParseAddress(o.Blobs); err != nil {
			return config.Usagef("--blobs: %v", err)
		}
	}
	if o.Database == "" {
		return nil
	}
	if c.String("generate") != "" {
		return config.Usagef("--database does not go with --generate, which keeps nothing")
	}
	return nil
}
