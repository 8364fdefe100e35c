"""Menu entries, and a page of the properties, for archives that archivefs has mounted, in Thunar.

An extension of Thunar cannot add emblems, so the page says what they would show.
"""

import sys

sys.path.insert(0, "/usr/share/archivefs/filemanager")

import archivefs_files as archivefs  # noqa: E402
from gi.repository import GObject, Gtk, Thunarx  # noqa: E402


class ArchiveFiles(GObject.GObject, Thunarx.MenuProvider, Thunarx.PropertyPageProvider):
    """The extension."""

    def __init__(self):
        pass  # thunarx-python makes the object

    def get_file_menu_items(self, _window, files):
        """Returns the menu entries for files. Attributes are not read for them: that could block."""
        return self.items(files)

    def get_folder_menu_items(self, _window, folder):
        """Returns those for the directory that is shown."""
        return self.items([folder], shown=True)

    def items(self, files, shown=False):
        """Returns menu entries."""
        items = []
        for entry in archivefs.entries([archivefs.path_of(file) for file in files], shown=shown):
            item = Thunarx.MenuItem(name=entry.name, label=entry.label, tooltip="", icon="archivefs")
            item.connect("activate", lambda _item, *_args, entry=entry: entry.start())
            items.append(item)
        return items

    def get_property_pages(self, files):
        """Returns a page for one file, filled once its attributes are read."""
        path = archivefs.path_of(files[0]) if len(files) == 1 else None
        if path is None or archivefs.MOUNTS.of(path) is None:
            return []
        label = Gtk.Label(label="")
        label.show()
        archivefs.read(path, None, lambda values: label.set_text(archivefs.in_words(values or {})))
        page = Thunarx.PropertyPage()
        page.set_label(archivefs.text("Archive"))
        page.add(label)
        return [page]
