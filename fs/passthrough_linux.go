package fs

import "github.com/hanwen/go-fuse/v2/fuse"

// asBacker is the mount's connection to the kernel, which can be asked to read files itself.
func asBacker(server *fuse.Server) backer { return server }
