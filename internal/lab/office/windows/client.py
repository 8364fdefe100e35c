"""A client of SMB that speaks as Windows and macOS do. Each line of standard input is a request in
JSON, each line of standard output its answer."""

import base64
import json
import socket
import struct
import sys

from impacket import nt_errors, smb, smb3, smbconnection
from impacket.smb3structs import SMB2_CHANGE_NOTIFY, SMB2ChangeNotify, SMB2ChangeNotify_Response


class Context:
    """A create context (MS-SMB2 2.2.13.2) with a name of four letters."""

    def __init__(self, name, data):
        self.bytes = struct.pack("<LHHHHL", 0, 16, len(name), 0, 24, len(data)) + name + bytes(4) + data

    def getData(self):
        return self.bytes


class Client:
    def __init__(self, address, share, person, password):
        host, port = address.rsplit(":", 1)
        self.share = share
        self.connection = smbconnection.SMBConnection(host, host, sess_port=int(port), timeout=120)
        self.connection.login(person, password)
        self.smb = self.connection.getSMBServer()
        self.tree()

    def tree(self):
        self.smb._Session["TreeConnectTable"].clear()  # else it takes the one that it has
        self.id = self.connection.connectTree(self.share)

    def open(self, path, access, share, options, disposition, oplock=0, context=None, data=""):
        contexts = None
        if context:
            contexts = [Context(context.encode(), base64.b64decode(data))]
        granted = []
        receive = self.smb.recvSMB

        def look(*args):
            packet = receive(*args)
            granted.append(packet["Data"][2] if packet["Status"] == 0 else 0)
            return packet

        self.smb.recvSMB = look
        try:
            handle = self.smb.create(self.id, path, access, share, options, disposition, 0x80, oplockLevel=oplock, createContexts=contexts)
        finally:
            self.smb.recvSMB = receive
        return {"handle": base64.b64encode(handle).decode(), "oplock": granted[-1]}

    def write(self, handle, offset, data):
        data = base64.b64decode(data)
        written = self.smb.write(self.id, base64.b64decode(handle), data, offset, len(data))
        if written != len(data):
            raise ValueError("%d of %d bytes were written" % (written, len(data)))

    def vanish(self, handle, offset, data):
        """Sends half of a write, and no more: the connection is reset, as by the end of a machine or of its network."""
        connection = self.smb._NetBIOSSession.get_socket()

        def half(packet):
            connection.sendall(struct.pack(">L", len(packet)) + packet[: len(packet) // 2])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            raise BrokenPipeError("it has vanished")

        self.smb._NetBIOSSession.send_packet = half
        try:
            self.write(handle, offset, data)
        except BrokenPipeError:
            pass

    def read(self, handle, offset, count):
        return base64.b64encode(self.smb.read(self.id, base64.b64decode(handle), offset, count)).decode()

    def close(self, handle):
        self.smb.close(self.id, base64.b64decode(handle))

    def set(self, handle, info, data):
        self.smb.setInfo(self.id, base64.b64decode(handle), inputBlob=base64.b64decode(data), fileInfoClass=info)

    def query(self, handle, kind, info, more=0):
        answer = self.smb.queryInfo(self.id, base64.b64decode(handle), infoType=kind, fileInfoClass=info, additionalInformation=more)
        return base64.b64encode(answer).decode()

    def list(self, path):
        found = self.connection.listPath(self.share, path + "\\*")
        return {f.get_longname(): f.get_filesize() for f in found if f.get_longname() not in (".", "..")}

    def notify(self, handle, filter):
        """Waits for a change in a directory, and returns the names that changed."""
        packet = self.smb.SMB_PACKET()
        packet["Command"], packet["TreeID"] = SMB2_CHANGE_NOTIFY, self.id
        order = SMB2ChangeNotify()
        order["OutputBufferLength"], order["CompletionFilter"] = 65536, filter
        order["FileID"] = base64.b64decode(handle)
        packet["Data"] = order
        answer = self.smb.recvSMB(self.smb.sendSMB(packet))
        if answer["Status"]:
            raise smb3.SessionError(answer["Status"], answer)
        names, data = [], SMB2ChangeNotify_Response(answer["Data"])["Buffer"]
        while data:
            following, _, length = struct.unpack("<LLL", data[:12])
            names.append(data[12 : 12 + length].decode("utf-16le"))
            data = data[following:] if following else b""
        return names


def status(error):
    if isinstance(error, (smb.SessionError, smb3.SessionError, smbconnection.SessionError)):
        code = error.getErrorCode() if hasattr(error, "getErrorCode") else error.get_error_code()
        return nt_errors.ERROR_MESSAGES.get(code, [hex(code)])[0]
    return "%s: %s" % (type(error).__name__, error)


client = None
for line in sys.stdin:
    request = json.loads(line)
    answer = {}
    try:
        if request["op"] == "connect":
            client = Client(**request["args"])
        else:
            answer["result"] = getattr(client, request["op"])(**request["args"])
    except Exception as error:  # whatever it is, the program that asked decides
        answer["error"] = status(error)
    print(json.dumps(answer), flush=True)
