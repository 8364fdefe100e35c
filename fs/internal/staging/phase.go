package staging

import "github.com/archivefs/archivefs/internal/spool"

// phase is the state of a file's bytes with respect to the archive, as far as the file system
// decides it. An upload has a state of its own in the spool (spool.State). docs/ARCHITECTURE.md has
// the same table of transitions; a test compares the two.
type phase uint8

const (
	// clean: unchanged since the archive, or the spool, took charge of it.
	clean phase = iota
	// dirty: changed, and no close has promised anything about the bytes.
	dirty
	// promised: changed and synced, and a close has returned success. Others still write.
	promised
	// spoiled: a write or a sync failed, so the bytes are not what the program meant.
	spoiled
	// broken: spoiled, and a close has returned success.
	broken
	// accepted: complete and durable, and the last close has returned success. The background
	// archives it.
	accepted
	// failed: could not be archived, and a close has returned success. The folder shows the bytes.
	failed
	// lost: could not be archived, and no close has returned success. The bytes have left the folder.
	lost
	// removed: unlinked, or replaced by what a listing shows. The bytes go with the last handle.
	removed

	phases = int(removed) + 1
)

func (p phase) String() string {
	return [phases]string{"clean", "dirty", "promised", "spoiled", "broken", "accepted", "failed", "lost", "removed"}[p]
}

// event is something that happens to the bytes of a file.
type event uint8

const (
	// onWrite: bytes were changed.
	onWrite event = iota
	// onDamage: a write or a sync failed.
	onDamage
	// onAnswer: a close returns success before the file is finished. The bytes were synced.
	onAnswer
	// onSeal: this close, or another one at the same moment, hands the bytes to the spool.
	onSeal
	// onQueue: the bytes are committed in the spool and queued.
	onQueue
	// onKeep: the bytes stay on this machine, because the file is temporary or empty.
	onKeep
	// onRecall: the bytes were taken back from the queue, or from failure, for a change.
	onRecall
	// onRefusal: the bytes could not be archived: the service refused them, or they are incomplete.
	onRefusal
	// onArrival: the archive has the file.
	onArrival
	// onStage: new bytes were made for a document.
	onStage
	// onUnlink: the file was unlinked, or no folder is going to show it any more.
	onUnlink

	events = int(onUnlink) + 1
)

func (e event) String() string {
	return [events]string{"write", "damage", "answer", "seal", "queue", "keep", "recall", "refusal", "arrival", "stage", "unlink"}[e]
}

// transitions gives the next phase for each phase and event. A cell that repeats the phase of its
// row changes nothing; so do events that cannot happen in that phase.
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

// after returns the phase that follows p on e.
func (p phase) after(e event) phase { return transitions[p][e] }

// phaseOf returns the phase of bytes that were in the spool before they had a File. up may be nil.
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

// unfinished reports whether the next close has something to do.
func (p phase) unfinished() bool {
	return p == dirty || p == promised || p == spoiled || p == broken
}
