# Edits the file that is named as a person does in nano: waits for what is shown, then types.
import os
import pty
import sys

pid, screen = pty.fork()
if pid == 0:
    os.execvp("nano", ["nano", "--ignorercfiles", sys.argv[1]])
seen = b""
for shown, keys in ((b"Exit", b"new \x0f"), (b"File Name to Write", b"\r"), (b"Wrote", b"\x18")):
    while shown not in seen:
        seen += os.read(screen, 4096)
    seen = b""
    os.write(screen, keys)
try:
    while os.read(screen, 4096):
        pass
except OSError:  # nano has ended
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
