package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server/care"
)

// placeOfDatabaseFlags say where the database of the archive is, as with serve.
func placeOfDatabaseFlags() []cli.Flag {
	return []cli.Flag{
		careDataFlag(),
		&cli.StringFlag{Name: "database", EnvVars: env("DATABASE"), Usage: "its database is the PostgreSQL at `URL`, as with serve"},
		&cli.StringFlag{Name: "database-file", EnvVars: env("DATABASE_FILE"), TakesFile: true, Usage: "its database is the PostgreSQL at the URL in `FILE`"},
	}
}

// placeOfArchiveFlags say where its contents are, too.
func placeOfArchiveFlags() []cli.Flag {
	return append(placeOfDatabaseFlags(),
		&cli.StringFlag{Name: "blobs", EnvVars: env("BLOBS"), Usage: "its contents are in the bucket at `ADDRESS`, as with serve"})
}

// careDataFlag says in which directory the archive is.
func careDataFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "data", EnvVars: env("DATA"), TakesFile: true, DefaultText: "archivefs in the XDG data home",
		Usage: "the archive is in `DIR`, as with serve",
	}
}

func readPlace(c *cli.Context) (place care.Place, err error) {
	if place.Database, err = secret(c, "database"); err != nil {
		return place, err
	}
	if place.Blobs = c.String("blobs"); place.Blobs != "" && place.Database == "" {
		return place, config.Usagef("--blobs needs --database")
	}
	place.Data, err = config.DataDir(c.String("data"))
	return place, err
}

// watchCare shows on a terminal how much is left of all until stop.
func watchCare(c *cli.Context, all backlog, seen *care.Progress) (bar *progress, stop func()) {
	bar = newProgress(c.App.ErrWriter)
	return bar, bar.follow(c.Context, func(context.Context) backlog { return all }, func() backlog {
		// How many rows there are is found out on the way.
		return backlog{uploads: int(seen.Contents.Load()), bytes: seen.Bytes.Load(), rows: -seen.RowsLeft.Load()}
	})
}
