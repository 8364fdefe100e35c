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

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
)

// OpenCommand is the command open.
func OpenCommand() *cli.Command {
	return &cli.Command{
		Name:      "open",
		Usage:     "show an archive in the file manager, and mount it before if need be",
		ArgsUsage: "[PROFILE]",
		Description: "Without a PROFILE it is all that name a mountpoint, and where there are none an archive of your\n" +
			"own, at ~/Archive. A mount that begins here goes on in the background.",
		Flags: []cli.Flag{
			command.ConfigFlag(),
			windowFlag(),
		},
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
	found := false
	for _, name := range configured.Profiles() {
		if dir := settings.PlaceOf(configured, name); dir != "" {
			found = true
			all = append(all, openAt(c, name, dir))
		}
	}
	if !found {
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

// mountInBackground mounts at dir, which is made when it is missing, as archivefs mount
// --daemon does.
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
