// Package kdirnotify tells the programs of KDE what has changed in a folder, as they tell one another:
// by signals of org.kde.KDirNotify on the session bus (KIO, kdirnotify.h). Dolphin then lists the folder
// again. Other systems than Linux have no such programs, and tell nobody.
package kdirnotify

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/godbus/dbus/v5"
)

// iface has the signals FilesAdded(s), with the URL of a folder, and FilesRemoved(as), with those of files.
const iface = "org.kde.KDirNotify"

// Tell tells that something has come into the folder at a path, and that the files of these names have
// gone from it. bus is the address of the session bus, which may take until ctx ends.
func Tell(ctx context.Context, bus, folder string, come bool, gone []string) error {
	told := make(chan error, 1)
	go func() { told <- tell(ctx, bus, folder, come, gone) }()
	select {
	case err := <-told:
		return err
	case <-ctx.Done(): // a write to a bus that does not read goes on, and so does the end of the connection
		return ctx.Err()
	}
}

func tell(ctx context.Context, bus, folder string, come bool, gone []string) error {
	conn, err := dbus.Connect(bus, dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("connect to the session bus: %w", err)
	}
	defer conn.Close() //nolint:errcheck // all was said
	if come {
		if err := conn.Emit("/", iface+".FilesAdded", address(folder)); err != nil {
			return fmt.Errorf("%s.FilesAdded: %w", iface, err)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	files := make([]string, len(gone))
	for i, name := range gone {
		files[i] = address(filepath.Join(folder, name))
	}
	if err := conn.Emit("/", iface+".FilesRemoved", files); err != nil {
		return fmt.Errorf("%s.FilesRemoved: %w", iface, err)
	}
	return nil
}

// address is the URL of a file.
func address(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }
