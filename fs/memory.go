package fs

import "runtime/debug"

// manyDocuments is how many documents in one answer leave enough garbage that the memory it
// took is given back at once.
const manyDocuments = 5000

// giveBack gives memory that is not used back to the system. Decoding a large answer takes
// several times what is kept of it, and a mount may have nothing to do for hours after.
func giveBack() { debug.FreeOSMemory() }
