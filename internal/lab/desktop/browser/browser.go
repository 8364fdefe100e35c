//go:build linux

// Package browser drives Chromium on a screen, with a profile of its own: pages are opened, keys
// are pressed, and what a page shows is read as a screen reader reads it. What the browser or a
// page complains about is noted, and so is a request that leaves the page's host.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
)

// Browser is a running Chromium.
type Browser struct {
	Version string

	screen  *screen.Screen
	process *machine.Process
	ctx     context.Context // of chromedp, which keeps the connection there
	cancels []context.CancelFunc
}

// Start starts Chromium for a reader of a language ("de"). Stop ends it; so does the end of the screen.
func Start(ctx context.Context, s *screen.Screen, language string) (*Browser, error) {
	profile := filepath.Join(s.Home(), ".config", "chromium-"+language)
	p, err := s.Launch(ctx, "chromium-"+language, fmt.Sprintf(
		`exec chromium --user-data-dir=%q --lang=%s --accept-lang=%s --remote-debugging-port=0 --no-first-run --password-store=basic `+
			`--disable-background-networking --disable-component-update --disable-sync --window-position=8,28 --window-size=900,580 about:blank`,
		profile, language, language))
	if err != nil {
		return nil, err
	}
	b := &Browser{screen: s, process: p}
	if err := b.connect(ctx, filepath.Join(profile, "DevToolsActivePort")); err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

// connect connects to the browser at the address in a file, which it writes when it listens.
func (b *Browser) connect(ctx context.Context, file string) error {
	var address string
	err := screen.Until(ctx, "a browser", func() (bool, error) {
		if b.process.Failed() {
			return false, errors.New("chromium ended; its log is in " + b.screen.Logs())
		}
		text, err := os.ReadFile(file) //nolint:gosec // a file of this session
		port, path, ok := strings.Cut(string(text), "\n")
		address = "ws://127.0.0.1:" + port + path
		return err == nil && ok, nil
	})
	if err != nil {
		return err
	}
	allocator, cancel := remote.NewAllocator(ctx, address, remote.NoModifyURL)
	b.cancels = append(b.cancels, cancel)
	connected, cancel := chromedp.NewContext(allocator)
	b.ctx, b.cancels = connected, append(b.cancels, cancel)
	version, err := chromedp.CallBrowser(connected, cdp.GetVersion, struct{}{})
	if err != nil {
		return err
	}
	b.Version = strings.Replace(version.Product, "/", " ", 1)
	_, err = chromedp.CallBrowser(connected, cdp.SetDownloadBehavior, cdp.SetDownloadBehaviorParams{
		Behavior: cdp.SetDownloadBehaviorBehaviorAllow, DownloadPath: b.Downloads(),
	})
	return err
}

// Downloads is the directory where files are saved.
func (b *Browser) Downloads() string { return filepath.Join(b.screen.Home(), "Downloads") }

// Stop ends the browser.
func (b *Browser) Stop() {
	b.process.Stop()
	for _, cancel := range slices.Backward(b.cancels) {
		cancel()
	}
}
