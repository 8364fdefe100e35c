// Package journal is an append-only log: what is appended to it is durable with one sync of one file, which all
// that arrive together share.
//
// # Files
//
// A log is a directory of segments, log.0000000001 and so on, which have their size before they are used, so that
// a sync writes bytes and hardly any metadata. One of them, the active one, takes entries. When it is full the next
// one takes over. Each begins with a block that has its number, a random salt and the run of the machine
// (Options.Boot). Each entry begins at a block, with a header that has the salt, its own place, a CRC-32C of its own
// and one of the body.
//
// # What a crash leaves
//
// An end of the program loses nothing. A crash of the machine can take what was not synced, in any order of the
// blocks: each header says up to where everything was durable when it was written, and of what lies beyond the last
// such place only the entries before the first broken one count. A broken entry below that place is damage: the
// others count all the same, and Options.Damaged is told.
//
// # What a sync that fails leaves
//
// What was not durable by then in the segment, and all that follows, is lost: who waits for it gets the error, and the
// next segment says where the entries before it end that count. The owner appends anew what it needs of that (Log.Lost,
// Options.Move). Until it has, no segment is used again that may have an earlier one.
//
// # Room
//
// The owner of the entries says of each when nothing needs it any more (Release). Segments become free in the order
// in which they were written, so that an entry which says that others are void outlives them. When much of the log is
// void the owner is asked to append anew what it needs of the oldest segments (Options.Move).
package journal
