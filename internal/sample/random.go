package sample

import "math/rand/v2"

// newRandom returns the random stream of seed: the same one on every run.
func newRandom(seed uint64) *rand.Rand {
	const archive = 0x61726368697665            // tells these streams from others of the same seed
	return rand.New(rand.NewPCG(archive, seed)) //nolint:gosec // sample data must repeat; nothing here is secret
}

// pick returns an element of list, which is not empty.
func pick[T any](rnd *rand.Rand, list []T) T {
	return list[rnd.IntN(len(list))]
}
