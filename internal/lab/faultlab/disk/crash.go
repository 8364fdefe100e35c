package disk

import (
	"math/rand/v2"
	"slices"
)

// block is the unit in bytes that reaches the medium whole.
const block = 512

// Crash is a power failure. What was not durable is lost, but for what had happened to
// reach the medium, which rng decides: the same rng and history leave the same disk. The
// disk must not be mounted.
func (d *Disk) Crash(rng *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	keep := chance(rng)
	for _, c := range slices.Clone(d.changes) {
		if rng.Float64() < keep {
			d.keepLocked(c)
		}
	}
	d.changes, d.plan = nil, nil
	seen := map[*inode]bool{}
	d.restartLocked(d.root, rng, seen)
}

// chance is how likely one change survives: often none, sometimes all.
func chance(rng *rand.Rand) float64 {
	return []float64{0, 0, 0.5, 0.8, 1}[rng.IntN(5)]
}

// restartLocked makes what is on the medium what programs see, of n and all below it. The
// caller holds mu.
func (d *Disk) restartLocked(n *inode, rng *rand.Rand, seen map[*inode]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if !n.dir {
		n.stable = survivors(n.stable, n.pending, rng)
		n.data, n.pending = slices.Clone(n.stable), nil
		return
	}
	clear(n.names)
	for _, name := range sortedNames(n.kept) {
		n.names[name] = n.kept[name]
		d.restartLocked(n.kept[name], rng, seen)
	}
}

// survivors is what a file holds after a crash: its durable content with what of the
// pending writes rng lets through.
func survivors(stable []byte, pending []write, rng *rand.Rand) []byte {
	if len(pending) == 0 {
		return stable
	}
	switch rng.IntN(4) {
	case 0: // nothing arrived
		return stable
	case 1: // the length arrived, the blocks did not
		return hollow(stable, pending, rng)
	}
	keep := chance(rng)
	for i, w := range pending {
		switch {
		case rng.Float64() >= keep:
		case i == len(pending)-1 && len(w.data) > 0:
			stable = torn(w, rng).on(stable)
		default:
			stable = w.on(stable)
		}
	}
	return stable
}

// hollow gives a file its last length; what that adds is zeros, or what lay on the medium.
func hollow(stable []byte, pending []write, rng *rand.Rand) []byte {
	size := len(stable)
	for _, w := range pending {
		if w.data == nil {
			size = w.off
		} else {
			size = max(size, w.off+len(w.data))
		}
	}
	old := min(size, len(stable))
	content := append(slices.Clone(stable[:old]), make([]byte, size-old)...)
	if rng.IntN(2) == 0 {
		garbage(content[old:], rng)
	}
	return content
}

// torn is a write of which the first blocks arrived, and of the others nothing, zeros or
// garbage.
func torn(w write, rng *rand.Rand) write {
	arrived := min(len(w.data), block*rng.IntN(len(w.data)/block+2))
	data := slices.Clone(w.data)
	switch rng.IntN(3) {
	case 0:
		data = data[:max(arrived, 1)]
	case 1:
		clear(data[arrived:])
	default:
		garbage(data[arrived:], rng)
	}
	return write{w.off, data}
}

func garbage(p []byte, rng *rand.Rand) {
	for i := range p {
		p[i] = byte(rng.Uint32()) //nolint:gosec // one byte of it
	}
}

func sortedNames(names map[string]*inode) []string {
	all := make([]string, 0, len(names))
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
