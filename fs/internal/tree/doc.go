// Package tree is the model of the directories: which names each of them shows, and for what.
// A directory is filled from the listings of the archive service, and keeps every name that it
// has shown.
//
// It knows neither FUSE nor HTTP; what waits on this machine to be archived is handed in.
package tree
