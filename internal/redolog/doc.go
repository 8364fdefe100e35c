// Package redolog makes small changes of files durable with one sync of one file, shared by all
// that arrive together.
//
// A change is made in place and not synced. Append then writes to the log what it takes to make the
// change again, and returns once that is durable. After a crash of the machine Open hands the
// entries to Options.Replay, oldest first, which makes the changes again.
//
// # Files
//
// The log is two files, redo.0 and redo.1, of a fixed size and written before they are used, so that
// a sync writes bytes and no metadata. One of them takes entries. When it is full the other one takes
// over. When that is half full Options.Checkpoint makes durable in place what the entries of the full one
// describe; then that one is empty. The files are made once several entries would have been worth it, and are left
// for the next run.
//
// Each file begins with a block that has a generation, which orders the two, a random salt, and the
// run of the machine (Options.Boot). Each entry begins at a block, with the salt and a CRC-32C. The
// first block that begins no such entry is the end: an entry is written only after those before it,
// so what a crash has torn is the last, which nobody was told about.
//
// # Rules for callers
//
// What an entry describes is in place before Append is called, because Checkpoint may run at once.
// A key that was appended is appended again with each later change, even if that is synced by other
// means, because a replay would otherwise undo the change. ErrFull is returned only for keys of which
// the log has no entry: the caller syncs in place then. Checkpoint and Replay must not wait for a caller
// of Append.
package redolog
