package main

import (
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
)

// databaseFlags say where the service keeps its database.
func databaseFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "database", EnvVars: env("DATABASE"), Usage: "keep the database in the PostgreSQL at `URL` instead of --data, for several instances to use; " +
			"its password can come from PGPASSWORD or ~/.pgpass"},
		&cli.StringFlag{Name: "database-file", EnvVars: env("DATABASE_FILE"), TakesFile: true, Usage: "keep the database in the PostgreSQL at the URL in `FILE`"},
	}
}

// readDatabase reads them. The API key must be given beside: all instances have the same one.
func readDatabase(c *cli.Context, o *server.Options) (err error) {
	if o.Database, err = secret(c, "database"); err != nil || o.Database == "" {
		return err
	}
	if c.String("generate") != "" {
		return config.Usagef("--database does not go with --generate, which keeps nothing")
	}
	if o.Credentials.APIKey == "" {
		return config.Usagef("--database keeps no API key; give all instances the same one with --api-key or --api-key-file")
	}
	return nil
}
