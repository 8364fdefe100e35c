# Works in a running LibreOffice: office.py PIPE open|saveas|save|text URL [NEW URL].
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
    print(document.Text.String)
except Exception as refusal:
    sys.exit("%s: %s" % (type(refusal).__name__, getattr(refusal, "Message", refusal)))
