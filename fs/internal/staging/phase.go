package staging

import "github.com/archivefs/archivefs/internal/spool"

// phase is what the bytes of a file are to the archive, as far as the file system decides it. What
// was handed to the spool has a state of its own there (spool.State). docs/ARCHITECTURE.md shows the
// table of transitions; a test compares the two.
type phase uint8

const (
	// clean: nothing was changed since the archive, or the spool, took charge of it.
	clean phase = iota
	// dirty: it was changed, and no close was answered yet.
	dirty
	// promised: it was changed, and a close was answered with success, for which the bytes were
	// synced. Others still write.
	promised
	// spoiled: a write or a sync failed, so the bytes are not what the program meant.
	spoiled
	// broken: spoiled, after a close was answered with success.
	broken
	// accepted: complete, durable, and answered with success. The background archives it.
	accepted
	// failed: it could not be archived after a close was answered with success. The folder shows it.
	failed
	// lost: it could not be archived, and the close was told. It has left its folder.
	lost
	// removed: its name was unlinked. The bytes go with the last handle.
	removed

	phases = int(removed) + 1
)

func (p phase) String() string {
	return [phases]string{"clean", "dirty", "promised", "spoiled", "broken", "accepted", "failed", "lost", "removed"}[p]
}

// event is what happens to the bytes of a file.
type event uint8

const (
	// onWrite: bytes were changed.
	onWrite event = iota
	// onDamage: a write or a sync failed.
	onDamage
	// onAnswer: a close is answered with success before the bytes are archived; they were synced.
	onAnswer
	// onSeal: the last close, or another one at the same moment, has handed the bytes to the spool.
	onSeal
	// onQueue: the spool holds them committed, for the background.
	onQueue
	// onKeep: they stay on this machine, as a temporary or an empty file does.
	onKeep
	// onRecall: they were taken back from the queue, or from failure, for a change.
	onRecall
	// onRefusal: they were not archived: the service refused them, or they are not whole.
	onRefusal
	// onArrival: the archive has them.
	onArrival
	// onStage: new bytes were made for a document.
	onStage
	// onUnlink: the name was removed.
	onUnlink

	events = int(onUnlink) + 1
)

func (e event) String() string {
	return [events]string{"write", "damage", "answer", "seal", "queue", "keep", "recall", "refusal", "arrival", "stage", "unlink"}[e]
}

// transitions say which phase follows. A cell that names the phase itself means that nothing changes,
// also where the event cannot happen.
var transitions = [phases][events]phase{
	//        write, damage, answer, seal, queue, keep, recall, refusal, arrival, stage, unlink
	clean:    {dirty, spoiled, accepted, clean, accepted, clean, clean, lost, clean, clean, removed},
	dirty:    {dirty, spoiled, promised, clean, accepted, clean, dirty, lost, clean, dirty, removed},
	promised: {promised, broken, promised, accepted, accepted, clean, dirty, failed, clean, promised, removed},
	spoiled:  {spoiled, spoiled, broken, spoiled, accepted, spoiled, clean, lost, clean, spoiled, removed},
	broken:   {broken, broken, broken, broken, accepted, broken, clean, failed, clean, broken, removed},
	accepted: {promised, broken, accepted, accepted, accepted, clean, clean, failed, clean, accepted, removed},
	failed:   {failed, failed, failed, failed, accepted, failed, clean, failed, clean, failed, removed},
	lost:     {lost, lost, lost, lost, accepted, lost, clean, lost, lost, clean, removed},
	removed:  {removed, removed, removed, removed, removed, removed, removed, removed, removed, removed, removed},
}

// after is the phase that follows an event.
func (p phase) after(e event) phase { return transitions[p][e] }

// phaseOf is the phase of bytes that were in the spool before they had a file; up may be nil.
func phaseOf(up *spool.Upload) phase {
	switch {
	case up == nil:
	case up.Record().Queued:
		return accepted
	case up.Record().Visible:
		return failed
	}
	return clean
}

// unfinished reports whether a close has something to do.
func (p phase) unfinished() bool {
	return p == dirty || p == promised || p == spoiled || p == broken
}

// ended reports whether what was written is not going to be archived by itself.
func (p phase) ended() bool { return p == failed || p == lost }
