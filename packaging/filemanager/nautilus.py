"""Emblems and menu entries for archives that archivefs has mounted, in GNOME Files (Nautilus)."""

import sys
import time

sys.path.insert(0, "/usr/share/archivefs/filemanager")

import archivefs_files as archivefs  # noqa: E402
from gi.repository import Gio, GLib, GObject, Nautilus  # noqa: E402

# What is known of so many files is remembered for menus.
REMEMBERED = 10000
# Files that will change by themselves, such as those being fetched, are looked at again every so many
# seconds; at most WATCHED files, for at most LONGEST seconds.
AGAIN, WATCHED, LONGEST = 5, 100, 600


class ArchiveFiles(GObject.GObject, Nautilus.InfoProvider, Nautilus.MenuProvider):
    """The extension."""

    def __init__(self):
        super().__init__()
        self.known = {}  # attributes by path, those read first at the beginning
        self.reading = {}  # Cancellables by id of their handle
        self.watched = {}  # FileInfo, and until when, by path
        self.timer = None

    def update_file_info_full(self, provider, handle, closure, file):
        """Adds emblems to a file, once its attributes are read."""
        path = archivefs.path_of(file)
        if path is None or archivefs.MOUNTS.of(path) is None:
            return Nautilus.OperationResult.COMPLETE
        cancellable = Gio.Cancellable()
        self.reading[id(handle)] = cancellable

        def done(values):
            if self.reading.pop(id(handle), None) is None:
                return  # cancelled
            self.note(path, file, values)
            for name in archivefs.emblems(values or {}):
                file.add_emblem(name)
            Nautilus.info_provider_update_complete_invoke(
                closure, provider, handle, Nautilus.OperationResult.COMPLETE)

        archivefs.read(path, cancellable, done)
        return Nautilus.OperationResult.IN_PROGRESS

    def cancel_update(self, _provider, handle):
        """Ends the reading for a file that is not shown any more."""
        cancellable = self.reading.pop(id(handle), None)
        if cancellable:
            cancellable.cancel()

    def note(self, path, file, values):
        """Remembers what was read of a file."""
        self.known.pop(path, None)
        self.watched.pop(path, None)
        if values is None:
            return
        self.known[path] = values
        if len(self.known) > REMEMBERED:
            del self.known[next(iter(self.known))]
        if not archivefs.settled(values) and len(self.watched) < WATCHED:
            self.watched[path] = (file, time.monotonic() + LONGEST)
            if self.timer is None:
                self.timer = GLib.timeout_add_seconds(AGAIN, self.look_again)

    def look_again(self):
        """Reads what will change by itself, and lets Nautilus ask for what has changed."""
        for path, (file, until) in list(self.watched.items()):
            if time.monotonic() > until or file.is_gone():
                del self.watched[path]
                continue

            def done(values, path=path, file=file):
                if values != self.known.get(path):
                    self.watched.pop(path, None)
                    file.invalidate_extension_info()

            archivefs.read(path, None, done)
        if not self.watched:
            self.timer = None
        return bool(self.watched)

    def get_file_items(self, *args):
        """Returns the menu entries for files; version 3 passes the window before them."""
        return self.items(args[-1])

    def get_background_items(self, *args):
        """Returns those for the directory that is shown."""
        return self.items([args[-1]], shown=True)

    def items(self, files, shown=False):
        """Returns menu entries."""
        items = []
        for entry in archivefs.entries([archivefs.path_of(file) for file in files], self.known.get, shown):
            item = Nautilus.MenuItem(name=entry.name, label=entry.label)
            item.connect("activate", lambda _item, entry=entry: entry.start(lambda: self.changed(files)))
            items.append(item)
        return items

    def changed(self, files):
        """Lets Nautilus ask for files again, after a command."""
        for file in files:
            self.known.pop(archivefs.path_of(file), None)
            file.invalidate_extension_info()
