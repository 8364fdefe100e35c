package running

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/metrics"
)

// MetricsFlag is the address of the metrics.
func MetricsFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "metrics", EnvVars: command.Env("METRICS"),
		Usage: "answer /metrics (for Prometheus), /healthz and /readyz at `ADDRESS`: HOST:PORT, or unix:PATH",
	}
}

// CheckMetrics refuses a wrong address of the metrics. No address is right, too.
func CheckMetrics(address string) error {
	if address == "" {
		return nil
	}
	if err := metrics.CheckAddress(address); err != nil {
		return config.WrongOption("metrics", "%v", err)
	}
	return nil
}

// ServeMetrics serves metrics at an address.
func ServeMetrics(ctx context.Context, address string, source metrics.Source, log logrus.FieldLogger) (*metrics.Server, error) {
	srv, err := metrics.Serve(ctx, address, source)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w; name another address", err)
	}
	log.Infof("metrics at %s", srv.Address())
	return srv, nil
}

// BuildInfo tells the version.
func BuildInfo(version string) metrics.Family {
	return metrics.Family{
		Name: "archivefs_build_info", Help: "Always 1; the version is the label.", Kind: metrics.Gauge, Labels: []string{"version"},
		Rows: []metrics.Row{{Labels: []string{version}, Value: 1}},
	}
}
