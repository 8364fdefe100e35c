package user

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/uploadspage"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
)

func showCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show the uploads in your browser, and decide there",
		ArgsUsage: "[MOUNTPOINT|PROFILE]",
		Description: "Opens a page with the state of the mount, its uploads and, for each one that failed, the reason\n" +
			"and buttons: try again, save a copy, discard. Without an operand it is all mounts of yours. The\n" +
			"page is for you alone, on this machine. The command serves it, and ends some minutes after you\n" +
			"have closed it, or with Ctrl-C.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "no-browser", Usage: "print the address, which works once, and open no browser; without an operand the mount point, too"},
			windowFlag(),
		}, settings.PlaceFlags()...),
		Action: inWindow(showUploads),
	}
}

// showUploads serves a page for each mount, until all are closed.
func showUploads(c *cli.Context) error {
	dirs, err := mountsToShow(c)
	if err != nil {
		return err
	}
	pages, ctx := errgroup.WithContext(c.Context)
	for _, dir := range dirs {
		pages.Go(func() error { return servePage(ctx, c, dir) })
	}
	return pages.Wait()
}

// mountsToShow are the mount points of the operand, or of all mounts that answer this user.
func mountsToShow(c *cli.Context) ([]string, error) {
	switch c.NArg() {
	case 0:
	case 1:
		dir, err := settings.MountpointAt(c, c.Args().First())
		if err == nil && !errors.Is(mounted.Answers(dir), mounted.ErrSilent) { // the page says that it is silent
			_, err = mounted.UploadsStatus(dir)
		}
		return []string{dir}, err
	default:
		return nil, config.Usagef("uploads show takes one MOUNTPOINT at most, and was given %d operands", c.NArg())
	}
	var dirs []string
	for _, dir := range mounted.Archives() {
		if mounted.Answers(dir) != nil {
			continue
		}
		if _, err := mounted.UploadsStatus(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, errors.New("there is no archive of yours mounted; archivefs open mounts one")
	}
	return dirs, nil
}

// servePage serves the page of the mount at dir until it is closed.
func servePage(ctx context.Context, c *cli.Context, dir string) error {
	page := uploadspage.New(&mountedUploads{dir: dir}, dir, uploadspage.Usual)
	ln, address, err := page.Listen(ctx)
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	if c.Bool("no-browser") {
		_, err = fmt.Fprintln(c.App.Writer, addressLine(address, dir, c.NArg() == 0))
	} else {
		_, err = fmt.Fprintf(c.App.Writer, "The uploads of %s are shown in your browser; Ctrl-C ends the page.\n", archive.Printable(dir))
		go browse(c, page, dir, address)
	}
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	return page.Serve(ctx, ln)
}

// addressLine is the address of a page, with the mount point if the page may be one of several.
func addressLine(address, dir string, several bool) string {
	if several {
		address += "  " + archive.Printable(dir)
	}
	return address
}

// browse opens an address in the browser, which may go on in the foreground for as long as it likes.
func browse(c *cli.Context, page *uploadspage.Page, dir, address string) {
	open := exec.Command("xdg-open", address) //nolint:gosec,noctx // our own address; the browser may outlive us
	if runtime.GOOS == "darwin" {
		// The list of processes does not show what is read from standard input.
		open = exec.Command("osascript", "-") //nolint:noctx // as above
		open.Stdin = strings.NewReader("open location \"" + address + "\"\n")
	}
	open.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for the browser
	err := open.Run()
	if err == nil || page.IsOpened() {
		return
	}
	why := fmt.Sprintf("no browser can be opened: %v", err)
	command.Say(c.App.ErrWriter, "%s; open this address in one for the uploads of %s: %s", why, archive.Printable(dir), address)
	if c.Bool("window") {
		showError(c.Context, why)
	}
}

// Status implements uploadspage.Mount.
func (m *mountedUploads) Status() (*fs.Status, error) {
	if errors.Is(mounted.Answers(m.dir), mounted.ErrSilent) {
		return nil, uploadspage.ErrSilent
	}
	return mounted.UploadsStatus(m.dir)
}

// OpenCommand is the command open.
func OpenCommand() *cli.Command {
	return &cli.Command{
		Name:      "open",
		Usage:     "show an archive in the file manager, and mount it before if need be",
		ArgsUsage: "[PROFILE]",
		Description: "Without a PROFILE it is all that name a mountpoint, and where there are none an archive of your\n" +
			"own, at ~/Archive. A mount that begins here goes on in the background.",
		Flags:  []cli.Flag{command.ConfigFlag(), windowFlag()},
		Action: inWindow(open),
	}
}

// windowFlag is --window of a command that menus start.
func windowFlag() cli.Flag {
	return &cli.BoolFlag{Name: "window", Usage: "show in a window what goes wrong, as a menu needs it"}
}

// inWindow also shows the error of a command in a window if --window is given.
func inWindow(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if err != nil && c.Bool("window") {
			showError(c.Context, err.Error())
		}
		return err
	}
}

// open mounts what is not mounted, and shows all mounts.
func open(c *cli.Context) error {
	profile, err := settings.OnlyProfile(c)
	if err != nil {
		return err
	}
	configured, err := settings.ReadConfig(c)
	if err != nil {
		return err
	}
	if profile != "" && !configured.Has(profile) {
		return settings.NoProfile(configured, profile, "")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	own := filepath.Join(home, "Archive")
	if profile != "" {
		return openAt(c, profile, cmp.Or(settings.PlaceOf(configured, profile), filepath.Join(own, profile)))
	}
	var all []error
	for _, name := range configured.Profiles() {
		if dir := settings.PlaceOf(configured, name); dir != "" {
			all = append(all, openAt(c, name, dir))
		}
	}
	if len(all) == 0 {
		return openAt(c, "", own)
	}
	return errors.Join(all...)
}

// openAt shows the archive of a profile (empty for none) at dir.
func openAt(c *cli.Context, profile, dir string) error {
	if _, _, err := mounted.Status(dir); err != nil {
		if err := mountInBackground(c, profile, dir); err != nil {
			return err
		}
	}
	return show(c.Context, dir)
}

// mountInBackground mounts at dir, which is made when it is missing, as archivefs mount --daemon does.
func mountInBackground(c *cli.Context, profile, dir string) error {
	if !mounted.IsStale(dir) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("mount point: %w", err)
		}
	}
	line := []string{"archivefs", "mount", "--daemon", "--default-grace=10s"} // as the units of users
	if file := c.String("config"); file != "" {
		line = append(line, "--config="+file)
	}
	line = append(line, "--")
	if profile != "" {
		line = append(line, profile)
	}
	line = append(line, dir)
	var said bytes.Buffer
	if status := command.InvocationOf(c.Context).Again(c.Context, line, io.Discard, &said); status != 0 {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n") // the last error is the reason
		return errors.New(strings.TrimPrefix(lines[len(lines)-1], "archivefs: "))
	}
	return nil
}

// show shows a directory in the file manager.
func show(ctx context.Context, dir string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return fmt.Errorf("the archive is mounted at %s, but there is no %s to show it; install the package xdg-utils", dir, opener)
	}
	if said, err := exec.CommandContext(ctx, path, dir).CombinedOutput(); err != nil { //nolint:gosec // the user names the directory
		return fmt.Errorf("the archive is mounted at %s, and %s cannot show it: %w: %s", dir, opener, err, strings.Join(strings.Fields(string(said)), " "))
	}
	return nil
}

// showError shows a text in a window, with a program of the desktop.
func showError(ctx context.Context, text string) {
	for _, line := range [][]string{
		{"zenity", "--error", "--no-markup", "--title=archivefs", "--text=" + text},
		{"kdialog", "--title", "archivefs", "--error", text},
		{"notify-send", "--icon=archivefs", "archivefs", text},
		{"xmessage", text},
	} {
		if path, err := exec.LookPath(line[0]); err == nil {
			_ = exec.CommandContext(ctx, path, line[1:]...).Run() //nolint:gosec // the text is an operand, and visible in ps
			return
		}
	}
}
