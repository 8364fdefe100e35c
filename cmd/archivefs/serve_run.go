package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
)

// runFlags are the options of how the service runs.
func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "tls-cert", EnvVars: env("TLS_CERT"), TakesFile: true, Usage: "speak TLS with the certificate in `FILE`, behind which those between it and its authority stand; goes with --tls-key"},
		&cli.StringFlag{Name: "tls-key", EnvVars: env("TLS_KEY"), TakesFile: true, Usage: "its key, in `FILE`; both are read again when they change"},
		metricsFlag(),
		&cli.IntFlag{Name: "max-requests", EnvVars: env("MAX_REQUESTS"), Value: server.DefaultMaxRequests, Usage: "answer `N` requests at a time; further ones wait"},
		&cli.IntFlag{Name: "max-uploads", EnvVars: env("MAX_UPLOADS"), Value: server.DefaultMaxUploads, Usage: "take `N` uploads at a time; further ones wait"},
		&cli.DurationFlag{Name: "stall", EnvVars: env("STALL"), Value: server.DefaultStall, Usage: "end a request whose client sends or takes nothing, or less than 1 KiB a second, for `DURATION`"},
		&cli.DurationFlag{Name: "drain-delay", EnvVars: env("DRAIN_DELAY"), Usage: "at the end say not ready for `DURATION`, and answer all the same; for a load balancer"},
		&cli.DurationFlag{Name: "drain", EnvVars: env("DRAIN"), Value: server.DefaultDrain, Usage: "wait at most `DURATION` for requests under way at the end"},
	}
}

// readRun reads them.
func readRun(c *cli.Context, o *server.Options) error {
	o.MaxRequests, o.MaxUploads = c.Int("max-requests"), c.Int("max-uploads")
	for _, name := range []string{"max-requests", "max-uploads"} {
		if c.Int(name) < 1 {
			return config.Usagef("--%s: at least one is let in", name)
		}
	}
	o.Stall, o.DrainDelay, o.Drain = c.Duration("stall"), c.Duration("drain-delay"), c.Duration("drain")
	if o.Stall <= 0 {
		return config.Usagef("--stall: a duration is needed, for example 30s")
	}
	if o.DrainDelay < 0 || o.Drain < 0 {
		return config.Usagef("--drain and --drain-delay: a duration is not negative")
	}
	if o.Drain == 0 {
		o.Drain = -1 // 0 is what counts without an option
	}
	if (c.String("tls-cert") == "") != (c.String("tls-key") == "") {
		return config.Usagef("--tls-cert and --tls-key go together")
	}
	return checkMetrics(c.String("metrics"))
}

// served is the archive service as this program runs it.
type served struct {
	server      *server.Server
	manager     *manager
	certificate *certificate // nil without TLS
	attended    bool         // somebody sat at a terminal at the beginning
}

// newServed makes what does not need the archive yet: a wrong certificate is told before
// anything is made.
func newServed(c *cli.Context, log logrus.FieldLogger) (r *served, err error) {
	r = &served{manager: &manager{log: log}, attended: hasTerminal()}
	if c.String("tls-cert") != "" {
		r.certificate, err = openCertificate(c.String("tls-cert"), c.String("tls-key"), log)
	}
	return r, err
}

// at says where everything is and serves until the end. What more is said of it are lines of their own.
func (r *served) at(c *cli.Context, ln net.Listener, what string, more ...string) error {
	at, open := reachable(ln.Addr())
	scheme := "http"
	if r.certificate != nil {
		scheme, ln = "https", tls.NewListener(ln, r.certificate.config())
	} else if open {
		r.manager.log.Warn("other machines can reach the service, and it has no TLS: credentials and documents can be read on the way; " +
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

// serve serves until ctx is done, or the terminal is gone.
func (r *served) serve(ctx context.Context, ln net.Listener, at string) error {
	ctx, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	attended := make(chan struct{})
	hangups := hearHangups(false)
	r.manager.tell("serving at "+at, daemon.SdNotifyReady) // the manager is attend's from here on
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

// attend looks after a service until it has ended. From the first signal to end on, a second
// one ends it at once.
func (r *served) attend(ctx context.Context, end context.CancelCauseFunc, hangups <-chan os.Signal, ended <-chan struct{}) {
	look := newLook(func() error { return r.server.Ready(ctx) }, r.manager.watchdog())
	defer look.end()
	for ctx.Err() == nil {
		select {
		case <-hangups:
			r.hangup(end)
		case <-look.due:
			look.begin()
		case err := <-look.answer: // whatever it is, somebody is there
			look.busy = false
			if err != nil {
				r.manager.log.Warnf("not ready: %v", err)
			}
			r.manager.alive()
		case <-ended:
			return
		case <-ctx.Done():
		}
	}
	hurry, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r.manager.tell("finishing requests", daemon.SdNotifyStopping)
	select {
	case <-hurry.Done():
		r.manager.log.Warnf("the service ends at once: %v", context.Cause(hurry))
		r.server.Cut()
	case <-ended:
	}
}

// hangup reads anew what can be read anew, unless the terminal is gone.
func (r *served) hangup(end context.CancelCauseFunc) {
	switch {
	case r.attended && !hasTerminal():
		end(errors.New("the terminal that it was started from is gone"))
	case r.certificate != nil:
		r.certificate.reload()
	}
}

// reachable is an address at which this machine reaches what listens at addr. open reports
// whether others can reach it, too.
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
