"""Tests of the extensions, with stand-ins for GObject introspection.

MOUNTED in the environment is a JSON object of paths in a mount, and the emblems that they shall have.
"""

import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).parent


class GError(Exception):
    """GLib.Error."""


class Info:
    """A Gio.FileInfo."""

    def __init__(self, values):
        self.values = values

    def get_attribute_as_string(self, name):
        return self.values.get(name)


class File:
    """A Gio.File, whose queries end when the test says so."""

    queries = []

    def __init__(self, path):
        self.path = path

    @staticmethod
    def new_for_path(path):
        return File(path)

    def get_path(self):
        return self.path

    def query_info_async(self, query, _flags, _priority, cancellable, callback):
        File.queries.append((self, query, cancellable, callback))

    def query_info_finish(self, result):
        query, cancellable = result
        if cancellable and cancellable.cancelled or not os.path.lexists(self.path):
            raise GError()
        values = {}
        for name in query.split(","):
            try:
                attribute = "user." + name.removeprefix("xattr::")
                values[name] = os.getxattr(self.path, attribute, follow_symlinks=False).decode()
            except OSError:
                pass
        return Info(values)

    @staticmethod
    def answer():
        """Ends the queries."""
        queries, File.queries = File.queries, []
        for file, query, cancellable, callback in queries:
            callback(file, (query, cancellable))


class Cancellable:
    """A Gio.Cancellable."""

    cancelled = False

    def cancel(self):
        self.cancelled = True


class Subprocess:
    """A Gio.Subprocess, which only notes what is started."""

    started = []

    @staticmethod
    def new(words, _flags):
        Subprocess.started.append(words)
        return Subprocess()

    def wait_async(self, _cancellable, callback):
        callback(self, None)

    def wait_finish(self, _result):
        return True


class Item:
    """An entry of a menu, of either file manager."""

    def __init__(self, name, label, **_more):
        self.name, self.label = name, label

    def connect(self, _signal, call):
        self.activate = call


class Label:
    """A Gtk.Label."""

    def __init__(self, label):
        self.text = label

    def set_text(self, text):
        self.text = text

    def show(self):
        pass


class Page:
    """A Thunarx.PropertyPage."""

    def set_label(self, label):
        self.label = label

    def add(self, widget):
        self.widget = widget


class FileInfo:
    """What a file manager hands to an extension."""

    def __init__(self, path, scheme="file"):
        self.path, self.scheme, self.emblems, self.asked_again = path, scheme, [], 0

    def get_uri_scheme(self):
        return self.scheme

    def get_location(self):
        return File(self.path)

    def add_emblem(self, name):
        self.emblems.append(name)

    def invalidate_extension_info(self):
        self.asked_again += 1

    def is_gone(self):
        return False


def stand_ins():
    """Makes the modules that the extensions import."""
    timers = []
    glib = types.SimpleNamespace(
        Error=GError, PRIORITY_LOW=300, find_program_in_path=lambda name: "/usr/bin/" + name,
        timeout_add_seconds=lambda _seconds, call: timers.append(call) or len(timers))
    gio = types.SimpleNamespace(
        File=File, Cancellable=Cancellable, Subprocess=Subprocess,
        FileQueryInfoFlags=types.SimpleNamespace(NOFOLLOW_SYMLINKS=1), SubprocessFlags=types.SimpleNamespace(NONE=0))
    completed = []
    nautilus = types.SimpleNamespace(
        InfoProvider=type("InfoProvider", (), {}), MenuProvider=type("MenuProvider", (), {}), MenuItem=Item,
        OperationResult=types.SimpleNamespace(COMPLETE="complete", IN_PROGRESS="in progress"),
        info_provider_update_complete_invoke=lambda *args: completed.append(args))
    thunarx = types.SimpleNamespace(
        MenuProvider=type("MenuProvider", (), {}), PropertyPageProvider=type("PropertyPageProvider", (), {}),
        MenuItem=Item, PropertyPage=Page)
    repository = types.ModuleType("gi.repository")
    repository.GLib, repository.Gio, repository.Nautilus, repository.Thunarx = glib, gio, nautilus, thunarx
    repository.GObject = types.SimpleNamespace(GObject=type("GObject", (), {}))
    repository.Gtk = types.SimpleNamespace(Label=Label)
    sys.modules["gi"], sys.modules["gi.repository"] = types.ModuleType("gi"), repository
    return timers, completed


TIMERS, COMPLETED = stand_ins()


def load(name):
    """Loads an extension."""
    spec = importlib.util.spec_from_file_location(name + "_extension", HERE / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, str(HERE))
os.environ["LC_ALL"] = "en_US.UTF-8"
nautilus, thunar = load("nautilus"), load("thunar")
archivefs = nautilus.archivefs

TABLE = """22 1 0:20 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:40 / /home/erika/Archiv\\040Büro rw,nosuid shared:5 - fuse.archivefs https://archive.example rw
31 30 0:41 / /home/erika/Archiv\\040Büro/usb rw - vfat /dev/sdb1 rw
32 22 0:42 / /mnt/other rw - fuse.sshfs host:/ rw
"""
PLACE = "/home/erika/Archiv Büro"


class Emblems(unittest.TestCase):
    """What is shown of which attributes."""

    def test_emblems(self):
        for values, want, settled in [
            ({"state": "archived", "cached": "no"}, [], True),
            ({"state": "archived", "cached": "yes"}, ["cached"], True),
            ({"state": "archived", "cached": "part"}, [], False),
            ({"state": "archived", "cached": "yes", "keep": "1"}, ["kept"], True),
            ({"state": "archived", "cached": "yes", "keep": "inherited"}, ["kept"], True),
            ({"state": "archived", "cached": "no", "keep": "inherited"}, ["waiting"], False),
            ({"state": "inbox", "cached": "no"}, ["inbox"], True),
            ({"state": "inbox", "cached": "yes"}, ["cached", "inbox"], True),
            ({"state": "pending", "cached": "yes"}, ["waiting"], False),
            ({"state": "failed", "cached": "yes"}, ["failed"], True),
            ({"state": "local", "cached": "yes"}, [], True),
            ({"kind": "folder"}, [], True),
            ({"kind": "folder", "keep": "1"}, ["kept"], True),
            ({"kind": "inbox"}, ["inbox"], True),
            ({}, [], True),
        ]:
            self.assertEqual(archivefs.emblems(values), ["emblem-archivefs-" + name for name in want], values)
            self.assertEqual(archivefs.settled(values), settled, values)

    def test_every_emblem_has_a_picture_and_words(self):
        for name, words in archivefs.EMBLEMS.items():
            picture = (HERE / "emblems" / (name + ".svg")).read_text()
            self.assertIn("<title>" + words + "</title>", picture)
            self.assertIn(words, archivefs.GERMAN)

    def test_languages(self):
        try:
            os.environ["LC_ALL"] = "de_AT.UTF-8"
            self.assertEqual(archivefs.text("Free"), "Nicht mehr behalten")
            self.assertEqual(archivefs.in_words({"state": "archived", "cached": "no"}), "nicht auf diesem Rechner")
        finally:
            os.environ["LC_ALL"] = "en_US.UTF-8"
        self.assertEqual(archivefs.in_words({"state": "inbox", "cached": "yes"}), "on this machine, in an inbox")


class Places(unittest.TestCase):
    """Which files are looked at."""

    def setUp(self):
        self.table = tempfile.NamedTemporaryFile("w", suffix=".mountinfo")
        self.addCleanup(self.table.close)
        self.table.write(TABLE)
        self.table.flush()
        self.now = 0.0
        self.mounts = archivefs.Mounts(self.table.name, lambda: self.now)

    def test_mounts(self):
        for path, want in [
            (PLACE, PLACE), (PLACE + "/a/b.pdf", PLACE), (PLACE + "2/a", None), (PLACE + "/usb/a", None),
            ("/mnt/other/a", None), ("/home/erika", None), ("/", None),
        ]:
            self.assertEqual(self.mounts.of(path), want, path)

    def test_table_is_read_once_a_second(self):
        self.mounts.of("/")
        self.table.truncate(0)
        self.assertEqual(self.mounts.of(PLACE), PLACE)
        self.now = 1.5
        self.assertIsNone(self.mounts.of(PLACE))

    def test_no_table(self):
        self.assertIsNone(archivefs.Mounts("/nowhere").of(PLACE))


class Extensions(unittest.TestCase):
    """The extensions, on files of a directory that counts as a mount."""

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(os.rmdir, self.dir)
        table = tempfile.NamedTemporaryFile("w")
        self.addCleanup(table.close)
        table.write("30 22 0:40 / %s rw - fuse.archivefs x rw\n" % self.dir)
        table.flush()
        before = archivefs.MOUNTS
        archivefs.MOUNTS = archivefs.Mounts(table.name)
        self.addCleanup(setattr, archivefs, "MOUNTS", before)
        File.queries, Subprocess.started = [], []
        COMPLETED.clear()
        TIMERS.clear()

    def test_other_files_cost_nothing(self):
        extension = nautilus.ArchiveFiles()
        for file in FileInfo("/etc/passwd"), FileInfo(None, "trash"), FileInfo(None):
            self.assertEqual(extension.update_file_info_full(None, None, None, file), "complete")
            self.assertEqual(extension.get_file_items([file]), [])
            self.assertEqual(thunar.ArchiveFiles().get_file_menu_items(None, [file]), [])
            self.assertEqual(thunar.ArchiveFiles().get_property_pages([file]), [])
        self.assertEqual(File.queries, [])

    def test_a_shown_file_is_read_by_somebody_else(self):
        extension, file, handle = nautilus.ArchiveFiles(), FileInfo(self.dir), object()
        self.assertEqual(extension.update_file_info_full("p", handle, "c", file), "in progress")
        self.assertEqual((len(File.queries), COMPLETED), (1, []))
        File.answer()
        self.assertEqual(COMPLETED, [("c", "p", handle, "complete")])
        self.assertEqual(extension.known, {self.dir: {}})
        self.assertEqual(extension.update_file_info_full("p", handle, "c", file), "in progress")
        extension.cancel_update("p", handle)
        File.answer()
        self.assertEqual(len(COMPLETED), 1)

    def test_what_changes_is_looked_at_again(self):
        extension, file = nautilus.ArchiveFiles(), FileInfo(self.dir)
        extension.note(self.dir, file, {"state": "pending"})
        self.assertEqual(len(TIMERS), 1)
        self.assertTrue(TIMERS[0]())
        File.answer()
        self.assertEqual(file.asked_again, 1)
        self.assertFalse(TIMERS[0]())
        extension.note(self.dir, file, {"state": "pending"})
        extension.watched[self.dir] = (file, time.monotonic() - 1)
        self.assertFalse(TIMERS[1]())

    def test_menus(self):
        extension, file = nautilus.ArchiveFiles(), FileInfo(self.dir)
        for known, want in [
            (None, ["keep", "free", "show"]), ({"state": "archived"}, ["keep", "show"]),
            ({"kind": "folder", "keep": "1"}, ["free", "show"]), ({"state": "archived", "keep": "inherited"}, ["show"]),
            ({"state": "pending"}, ["show"]), ({}, ["show"]),
        ]:
            extension.known = {} if known is None else {self.dir: known}
            for menu, items in ("", extension.get_file_items([file])), ("shown-", extension.get_background_items("window", file)):
                self.assertEqual([item.name for item in items], ["archivefs::" + menu + name for name in want], known)
        extension.known = {self.dir: {"state": "archived"}}
        extension.get_file_items("window", [file])[0].activate(None)
        self.assertEqual((file.asked_again, extension.known), (1, {}))
        for item in thunar.ArchiveFiles().get_file_menu_items(None, [file]):
            item.activate(item)
        keep = ["/usr/bin/archivefs", "keep", "--detach", "--window", "--", self.dir]
        self.assertEqual(Subprocess.started, [
            keep, keep, ["/usr/bin/archivefs", "free", "--window", "--", self.dir],
            ["/usr/bin/archivefs", "uploads", "show", self.dir]])
        self.assertEqual(len(thunar.ArchiveFiles().get_folder_menu_items(None, file)), 3)

    def test_page_of_properties(self):
        (page,) = thunar.ArchiveFiles().get_property_pages([FileInfo(self.dir)])
        File.answer()
        self.assertEqual((page.label, page.widget.text), ("Archive", ""))
        self.assertEqual(thunar.ArchiveFiles().get_property_pages([FileInfo(self.dir)] * 2), [])


@unittest.skipUnless("MOUNTED" in os.environ, "nothing is mounted")
class Mounted(unittest.TestCase):
    """Emblems of files in a real mount."""

    def test_emblems(self):
        extension = nautilus.ArchiveFiles()
        for path, want in json.loads(os.environ["MOUNTED"]).items():
            file = FileInfo(path)
            self.assertEqual(extension.update_file_info_full(None, file, None, file), "in progress", path)
            File.answer()
            self.assertEqual(" ".join(name.removeprefix("emblem-archivefs-") for name in file.emblems), want, path)


if __name__ == "__main__":
    unittest.main()
