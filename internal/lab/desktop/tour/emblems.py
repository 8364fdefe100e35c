"""Notes which emblems Nautilus is given."""

import os

from gi.repository import Nautilus

add = Nautilus.FileInfo.add_emblem


def noted(file, name):
    with open(os.environ["EMBLEMS"], "a", encoding="utf-8") as notes:
        notes.write(f"{file.get_name()}: {name}\n")
    add(file, name)


Nautilus.FileInfo.add_emblem = noted
