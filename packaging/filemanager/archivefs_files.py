"""What the extensions of archivefs for file managers share.

They show what is known of a file by extended attributes (user.archive.*) that a mount answers without
asking its service. Only files in mounts of archivefs are looked at. Nothing here blocks: attributes are
read by GIO's own threads, and commands are processes that nobody waits for.
"""

import os
import re
import time

from gi.repository import Gio, GLib

# The attributes that are read, as GIO names those of the namespace user.
ATTRIBUTES = ("state", "keep", "cached", "kind")
QUERY = ",".join("xattr::archive." + name for name in ATTRIBUTES)

GERMAN = {
    "Keep on This Machine": "Auf diesem Rechner behalten",
    "Free": "Nicht mehr behalten",
    "Show What Waits": "Zeigen, was wartet",
    "Archive": "Archiv",
    "kept on this machine": "auf diesem Rechner behalten",
    "on this machine": "auf diesem Rechner",
    "waits": "wartet",
    "failed": "fehlgeschlagen",
    "in an inbox": "in einem Eingang",
    "not on this machine": "nicht auf diesem Rechner",
}

EMBLEMS = {
    "emblem-archivefs-failed": "failed",
    "emblem-archivefs-waiting": "waits",
    "emblem-archivefs-kept": "kept on this machine",
    "emblem-archivefs-cached": "on this machine",
    "emblem-archivefs-inbox": "in an inbox",
}


def text(english):
    """Returns a text in the language of the session."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        language = os.environ.get(variable)
        if language:
            return GERMAN[english] if language.startswith("de") else english
    return english


def emblems(values):
    """Returns the names of the emblems for a file or directory with these attributes."""
    state, keep, cached = values.get("state"), values.get("keep"), values.get("cached")
    names = []
    if state == "failed":
        names.append("emblem-archivefs-failed")
    elif state == "pending" or keep and cached not in (None, "yes"):
        names.append("emblem-archivefs-waiting")
    elif keep:
        names.append("emblem-archivefs-kept")
    elif cached == "yes" and state in ("archived", "inbox"):
        names.append("emblem-archivefs-cached")
    if state == "inbox" or values.get("kind") == "inbox":
        names.append("emblem-archivefs-inbox")
    return names


def in_words(values):
    """Says what the emblems show."""
    words = [text(EMBLEMS[name]) for name in emblems(values)]
    if values.get("cached") == "no" and not values.get("keep"):
        words.insert(0, text("not on this machine"))
    return ", ".join(words)


def settled(values):
    """Reports whether the attributes stay as they are, unless somebody does something."""
    return values.get("state") != "pending" and values.get("cached") != "part" and (
        not values.get("keep") or values.get("cached") in (None, "yes"))


def may_keep(values):
    """Reports whether a file or directory can be kept; one of which nothing is known may be."""
    return values is None or not values.get("keep") and (
        values.get("state") in ("archived", "inbox") or values.get("kind") in ("mandator", "folder", "inbox"))


def may_free(values):
    """Reports whether a file or directory can be freed."""
    return values is None or values.get("keep") == "1"


class Mounts:
    """The mounts of archivefs. The table of mounts is read at most once a second, and no mount is
    asked: one that hangs does not matter."""

    def __init__(self, table="/proc/self/mountinfo", now=time.monotonic):
        self.table, self.now = table, now
        self.read_at, self.points = None, []

    def of(self, path):
        """Returns the mount point of the archive that has an absolute path, None if there is none."""
        if self.read_at is None or self.now() - self.read_at >= 1:
            self.read_at, self.points = self.now(), self._read()
        for point, ours in self.points:
            if path == point or path.startswith(point.rstrip("/") + "/"):
                return point if ours else None
        return None

    def _read(self):
        """Returns all mount points, the longest first, and whether they are of archivefs. If there is
        none, it returns nothing."""
        points = {}
        try:
            with open(self.table, encoding="utf-8", errors="surrogateescape") as table:
                for line in table:
                    fields, _, kind = line.partition(" - ")
                    point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), fields.split()[4])
                    points[point] = kind.split()[0] == "fuse.archivefs"  # a later mount hides one below it
        except (OSError, IndexError):
            return []
        if not any(points.values()):
            return []
        return sorted(points.items(), key=lambda item: len(item[0]), reverse=True)


MOUNTS = Mounts()


def path_of(file):
    """Returns the path of a FileInfo of a file manager, None if it has none."""
    if file.get_uri_scheme() != "file":
        return None
    location = file.get_location()
    return location.get_path() if location else None


def read(path, cancellable, done):
    """Reads the attributes of a file, and calls done with those that it has; with None if it cannot be
    read."""

    def finished(source, result):
        try:
            info = source.query_info_finish(result)
        except GLib.Error:
            done(None)
            return
        values = {name: info.get_attribute_as_string("xattr::archive." + name) for name in ATTRIBUTES}
        done({name: value for name, value in values.items() if value})

    Gio.File.new_for_path(path).query_info_async(
        QUERY, Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS, GLib.PRIORITY_LOW, cancellable, finished)


def run(words, done=None):
    """Starts archivefs. It shows errors in a window itself. done is called at its end."""
    program = GLib.find_program_in_path("archivefs")
    if not program:
        return

    def ended(process, result):
        try:
            process.wait_finish(result)
        except GLib.Error:
            pass
        if done:
            done()

    try:
        Gio.Subprocess.new([program, *words], Gio.SubprocessFlags.NONE).wait_async(None, ended)
    except GLib.Error:
        pass


class Entry:
    """An entry of a menu."""

    def __init__(self, name, label, words):
        self.name, self.label, self.words = "archivefs::" + name, text(label), words

    def start(self, done=None):
        """Does what it says."""
        run(self.words, done)


def entries(paths, known=lambda path: None, shown=False):
    """Returns the entries for files, or for the directory that is shown. known returns what was read of a
    path, None if nothing was. If one of the files is in no archive, there are none."""
    points = [MOUNTS.of(path) if path else None for path in paths]
    if not points or None in points:
        return []
    values, found = [known(path) for path in paths], []
    menu = "shown-" if shown else ""  # entries of one name do the same, also in different menus (Nautilus 43)
    if any(may_keep(v) for v in values):
        found.append(Entry(menu + "keep", "Keep on This Machine", ["keep", "--detach", "--window", "--", *paths]))
    if any(may_free(v) for v in values):
        found.append(Entry(menu + "free", "Free", ["free", "--window", "--", *paths]))
    found.append(Entry(menu + "show", "Show What Waits", ["uploads", "show", points[0]]))
    return found
