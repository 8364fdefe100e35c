"""What the scripts of the trials call: a person at a terminal, a client of SMB,
and waiting.

lab.py settle             waits until nothing of this directory waits to be archived
lab.py drive PROGRAM [ARG...] -- STEP...   does at a terminal what the steps say
lab.py share PATH FILE whole|vanishing|silently   copies a file to the share as Explorer does: its length, then
                          its bytes; or it vanishes after a third; or it does so and has announced no length

Steps at a terminal, each with a bound of time:
see:REGEX     waits until the screen shows it
type:KEYS     types; ^X is Ctrl-X, ^M is Enter, ^[ is Escape
until:TEST    waits until a test of bash succeeds
not:REGEX     fails if the screen shows it
either:COME:REFUSED[:KEYS]   waits for one of both, a REGEX or "$ " and a test; at the second the keys are
              typed, or without keys the program is killed, and the status is 3
leave:KEYS    types until the program ends
signal:NAME   sends a signal to the program
"""
import fcntl
import glob
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60  # seconds: of anything on a busy machine


def settle():
    mount = os.environ["MOUNT"]
    below = os.path.relpath(os.getcwd(), mount) + "/"
    program = os.environ["ARCHIVEFS"]
    if float(os.environ["GRACE"]) > 0:
        subprocess.run([program, "uploads", "send", os.getcwd()], check=True, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while True:
        out = subprocess.run([program, "uploads", "list", "--json", mount], check=True, capture_output=True).stdout
        wait = [u for u in json.loads(out or "[]") or [] if u["path"].startswith(below) and u["state"] not in ("failed", "local")]
        if not wait:
            return 0
        if time.monotonic() > deadline:
            print("still waits:", wait)
            return 1
        time.sleep(0.1)


class Terminal:
    """A program at a terminal of 40 lines."""

    def __init__(self, command):
        import pty

        import pyte

        self.shown = pyte.Screen(200, 40)
        self.stream = pyte.ByteStream(self.shown)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # Here, and not later from outside: editors throw away what is typed while they learn of a new size.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
            os.environ.update(TERM="linux", LINES="40", COLUMNS="200")
            try:
                os.execvp(command[0], command)
            except OSError as e:
                print(e)
                os._exit(127)
        self.open = True

    def read(self, seconds):
        """Shows what the program writes meanwhile."""
        if not self.open:
            time.sleep(seconds)
            return
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # it has ended
                data = b""
            self.open = bool(data)
            self.stream.feed(data)

    def text(self):
        return "\n".join(line.rstrip() for line in self.shown.display).strip()

    def wait(self, what, come):
        deadline = time.monotonic() + PATIENCE
        while not come():
            if time.monotonic() > deadline:
                raise TimeoutError(what)
            if not self.open and self.over() is not None and not come():
                raise EOFError(what + ": the program has ended")
            self.read(0.05)

    status = None

    def over(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code
        return self.status

    def alone(self):
        """Says whether all processes of the terminal have ended: rsync's receiver outlives the one it was called as."""
        for stat in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(stat) as f:
                    fields = f.read().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(fields[3]) == self.pid and fields[0] not in "ZX":
                return False
        return True

    def come(self, what):
        if what.startswith("$ "):
            return subprocess.run(["bash", "-c", what[2:]], stderr=subprocess.DEVNULL).returncode == 0
        return re.search(what, self.text()) is not None

    def type(self, what):
        keys = re.sub(r"\^(.)", lambda m: chr(ord(m[1]) & 31), what)
        for i in range(0, len(keys), 64):  # a person is no paste
            os.write(self.fd, keys[i : i + 64].encode())
            self.read(0.02)

    def leave(self, keys):
        """Types until the program ends, or kills it if there is nothing to type."""
        if not keys:
            os.kill(self.pid, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while self.over() is None:
            if time.monotonic() > deadline:
                raise TimeoutError("its end")
            if keys:
                self.type(keys)
            self.read(0.5)

    def step(self, step):
        kind, _, what = step.partition(":")
        if kind == "see":
            self.wait(step, lambda: self.come(what))
        elif kind == "type":
            self.type(what)
        elif kind == "until":
            self.wait(step, lambda: self.come("$ " + what))
        elif kind == "not":
            return 98 if self.come(what) else None
        elif kind == "either":
            good, bad, *keys = what.split(":", 2)
            self.wait(step, lambda: self.come(good) or self.come(bad))
            if self.come(bad):
                self.leave(keys[0] if keys else "")
                return 3
        elif kind == "leave":
            self.leave(what)
        elif kind == "signal":
            os.kill(self.pid, getattr(signal, "SIG" + what))
        else:
            raise ValueError(step)
        return None


def drive(words):
    at = words.index("--")
    t = Terminal(words[:at])
    try:
        for step in words[at + 1 :]:
            status = t.step(step)
            if status is not None:
                print(t.text())
                return status
        t.wait("the end of " + words[0], lambda: t.over() is not None)
        t.wait("the end of all that it started", t.alone)
    except (TimeoutError, EOFError, OSError) as e:
        print("at the terminal:", e, "\n" + t.text())
        if t.over() is None:
            os.kill(t.pid, signal.SIGKILL)
        return 99
    if t.status:
        print(t.text())
    return t.status


def share(path, file, how):
    from impacket import smb3structs
    from impacket.smbconnection import SMBConnection

    with open(file, "rb") as f:
        content = f.read()
    client = SMBConnection("127.0.0.1", "127.0.0.1", sess_port=int(os.environ["SMB"].rpartition(":")[2]))
    client.login("", "")
    tree = client.connectTree("archive")
    smb = client._SMBConnection  # the only way to set a length
    name = path.replace("/", "\\")
    f = client.createFile(tree, name, desiredAccess=0x12019F, shareMode=0, creationDisposition=2, creationOption=0x40)
    if how != "silently":
        smb.setInfo(tree, f, infoType=smb3structs.SMB2_0_INFO_FILE, fileInfoClass=20, inputBlob=struct.pack("<q", len(content)))
    end = len(content) if how == "whole" else len(content) // 3
    for at in range(0, end, 65536):
        piece = content[at : min(at + 65536, end)]
        smb.write(tree, f, piece, at, len(piece))
    if how != "whole":
        os.kill(os.getpid(), signal.SIGKILL)
    smb.close(tree, f)
    return 0


if __name__ == "__main__":
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    if word == "settle":
        sys.exit(settle())
    if word == "drive":
        sys.exit(drive(sys.argv[2:]))
    if word == "share":
        sys.exit(share(*sys.argv[2:]))
    sys.exit(__doc__)
