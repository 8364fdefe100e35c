// Package generated is an archive that nobody has stored, for trying out how programs
// behave on a huge one: what a folder or a document is called, when it was made and which
// bytes it holds is computed from its id whenever it is asked for. It is the same each time,
// takes no memory and no disk, and cannot be changed.
//
// Folders are numbered from 1 in the order of a walk that visits a folder before what lies
// in it, so that a folder and all below it have consecutive ids; every folder has equally
// many documents, numbered in the order of the folders. All of it is arithmetic with that.
//
// It takes the places of packages store and blob below the handlers of the service.
package generated
