// Package tree is the model of the directories: which names each of them shows, and for what.
// Directories are filled from the listings of the archive service. An entry keeps its name until it is
// renamed.
//
// It knows neither FUSE nor HTTP. Config.Staged is what waits on this machine to be archived.
package tree
