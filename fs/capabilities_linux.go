package fs

import "github.com/hanwen/go-fuse/v2/fuse"

// platformCapabilities are those of this system alone. That a write takes no privileges from a
// file, of which none has any, spares the question for them (security.capability) before
// each write but the first.
const platformCapabilities = fuse.CAP_HANDLE_KILLPRIV_V2
