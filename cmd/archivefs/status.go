package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show requests, caches, uploads and health of a running mount",
		ArgsUsage: "MOUNTPOINT|PROFILE",
		Description: "Its health is one of\n\n" +
			"   ok       the service answers, and no upload failed\n" +
			"   away     the service does not answer, or refuses the credentials: what is known is shown,\n" +
			"            and the last error says why. With --writes async uploads wait, with sync they fail\n" +
			"   disk     the disk that keeps what waits to be archived takes no files: it is read-only, full\n" +
			"            or failing, and nothing can be put in\n" +
			"   failing  uploads failed and wait for your decision: see archivefs uploads list MOUNTPOINT",
		Flags: append([]cli.Flag{
			jsonFlag(),
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "show it anew every second, until Ctrl-C"},
		}, placeFlags()...),
		OnUsageError: usageError,
		Action:       showStatus,
	}
}

func showStatus(c *cli.Context) error {
	dir, err := mountpointOperand(c)
	if err != nil {
		return err
	}
	if c.Bool("watch") {
		ticks := time.NewTicker(time.Second)
		defer ticks.Stop()
		return watchStatus(c, dir, ticks.C)
	}
	text, status, err := readStatus(dir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		_, err := c.App.Writer.Write(text)
		return err
	}
	return printStatus(c.App.Writer, dir, status)
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON instead of a table"}
}

// readStatus reads the status of the mount at dir, through the mount.
func readStatus(dir string) ([]byte, *fs.Status, error) {
	text, err := os.ReadFile(filepath.Join(dir, ".archivefs", "status.json")) //nolint:gosec // the user names it
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return nil, nil, fmt.Errorf("the mount at %s is stale: the process behind it is gone; archivefs unmount %s takes it away", dir, doctor.Quoted(dir))
	case errors.Is(err, os.ErrPermission):
		return nil, nil, fmt.Errorf(
			"%s is not open to you; if an archive is mounted there, only its user can use it (root can unmount it with umount %s)", dir, doctor.Quoted(dir))
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil, fmt.Errorf("there is no archive mounted at %s", dir)
	case err != nil:
		return nil, nil, fmt.Errorf("ask the mount at %s: %w", dir, err)
	}
	var status fs.Status
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, nil, fmt.Errorf("the mount at %s answers with something else than a status: %w", dir, err)
	}
	return text, &status, nil
}

// healthInWords says what the health of the mount at dir means, and what to do about it.
func healthInWords(dir string, s *fs.Status) string {
	waiting, failed := len(s.Uploads.List)-failedUploads(s), failedUploads(s)
	list := "see archivefs uploads list " + doctor.Quoted(dir)
	switch s.Health {
	case fs.HealthOK:
		return s.Health + ": the service answers, and no upload failed"
	case fs.HealthAway:
		text := s.Health + ": " + awayInWords(s.Cure != "") + "; what is known is shown"
		if waiting > 0 {
			text += "; " + doing(waiting, "upload", "waits", "wait")
		}
		if failed > 0 {
			text += "; " + plural(failed, "upload") + " failed, " + list
		}
		return text
	case fs.HealthDisk:
		return s.Health + ": nothing can be put in, because the disk of the state directory takes no files"
	case fs.HealthFailing:
		return s.Health + ": " + doing(failed, "upload", "failed and waits", "failed and wait") + " for your decision; " + list
	}
	return s.Health
}

// awayInWords says why a service cannot be used.
func awayInWords(refused bool) string {
	if refused {
		return "the service refuses the credentials"
	}
	return "the service does not answer, or cannot do what it is asked"
}
