package main

import (
	"net"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/generated"
)

// wantGenerated refuses what makes no sense with --generate, if that is given: nothing is
// kept of such an archive, not even a key.
func wantGenerated(c *cli.Context, cred apiclient.Credentials) error {
	text := c.String("generate")
	if text == "" {
		return nil
	}
	if _, err := generated.ParseShape(text); err != nil {
		return config.Usagef("--generate: %v", err)
	}
	if c.Bool("sample") || c.String("import") != "" {
		return config.Usagef("--generate goes neither with --sample nor with --import: nothing can be put into what is generated")
	}
	if cred.APIKey == "" {
		return config.Usagef("--generate keeps no key of its own; give one with --api-key or --api-key-file")
	}
	return nil
}

// serveGenerated serves an archive that is made up as it is read.
func serveGenerated(c *cli.Context, ln net.Listener, r *served, options server.Options) error {
	shape, err := generated.ParseShape(c.String("generate"))
	if err != nil {
		return config.Usagef("--generate: %v", err)
	}
	r.server = server.Generate(options, shape)
	return r.at(c, ln, "generated archive "+shape.String())
}
