# Works in a running LibreOffice: office.py PIPE open|saveas|save|text URL [NEW URL].
import os
import sys
import time

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException

pipe, verb, url = sys.argv[1:4]
local = uno.getComponentContext()
resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
for _ in range(300):
    try:
        context = resolver.resolve("uno:pipe,name=%s;urp;StarOffice.ComponentContext" % pipe)
        break
    except NoConnectException:
        time.sleep(0.1)
else:
    sys.exit("LibreOffice does not answer")
desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)


def opened():
    for document in desktop.Components:
        if document.URL == url:
            return document
    return desktop.loadComponentFromURL(url, "_blank", 0, ())


document = opened()
try:
    if verb == "saveas":
        document.storeAsURL(sys.argv[4], (PropertyValue("FilterName", 0, "writer8", 0),))
    elif verb == "save":
        document.Text.insertString(document.Text.Start, "Changed. ", False)
        document.store()
    print(document.Text.String, flush=True)
    status = 0
except Exception as refusal:
    print("%s: %s" % (type(refusal).__name__, getattr(refusal, "Message", refusal)), file=sys.stderr, flush=True)
    status = 1
os._exit(status)  # the threads of the bridge may crash while an interpreter winds up
