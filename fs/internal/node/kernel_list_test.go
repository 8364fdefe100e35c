package node

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// kernelModel is what a kernel makes of the answers to OPENDIR and READDIR: handles that it
// keeps something of list what is kept, or fill it, each from where it stands; every other
// drops it when its opening is over.
type kernelModel struct {
	list     kernelList
	pages    []*listing // by position: whose entry; nil where it was dropped
	complete bool
}

// openDir is a handle in the model: what it does next, and what it has shown so far.
type openDir struct {
	listing *listing
	keep    bool
	drop    drop
	opened  bool
	at      int
}

const modelEntries = 3

// step carries one handle on, and returns an error when it shows what it was not told. It
// reports whether the handle is closed.
func (k *kernelModel) step(h *openDir, rest bool) (closed bool, err error) {
	switch {
	case !h.opened:
		h.opened = true
		if !h.keep {
			clear(k.pages)
		}
	case h.at == modelEntries || rest && h.at > 0:
		if h.keep {
			k.list.closed()
		} else {
			k.list.dropped(h.drop)
		}
		return true, nil
	case !h.keep:
		if h.at == 0 {
			k.list.dropped(h.drop)
		}
		h.at++
	default:
		return false, k.read(h)
	}
	return false, nil
}

// read shows the next entry through a handle that something is kept of.
func (k *kernelModel) read(h *openDir) error {
	if k.complete && k.pages[h.at] == nil { // dropped: all of it is of no use
		k.pages, k.complete = nil, false
	}
	if k.complete {
		if shown := k.pages[h.at]; shown.version != h.listing.version {
			return fmt.Errorf("entry %d of listing %d in place of %d", h.at, shown.version, h.listing.version)
		}
	} else if len(k.pages) == h.at {
		k.pages = append(k.pages, h.listing)
		k.complete = len(k.pages) == modelEntries
	}
	h.at++
	return nil
}

// Whatever the order in which handles are opened, answered, read and closed while names
// change, nobody lists anything but what the OPENDIR found.
func TestKernelNeverListsWhatWasNotTold(t *testing.T) {
	listed := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		k, handles := &kernelModel{}, []*openDir{}
		version := uint64(0)
		for i := range 200 {
			switch n := r.IntN(10); {
			case n == 0:
				version++
			case n < 4 && len(handles) < 4:
				h := &openDir{listing: &listing{version: version, byName: r.IntN(2) == 0}}
				h.keep, h.drop = k.list.opening(h.listing)
				handles = append(handles, h)
			case len(handles) > 0:
				j := r.IntN(len(handles))
				h := handles[j]
				closed, err := k.step(h, r.IntN(8) == 0)
				if err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, i, err)
				}
				if h.keep && h.at == modelEntries {
					k.list.wasWhole(false)
				}
				if closed {
					handles = append(handles[:j], handles[j+1:]...)
				}
				if k.complete && h.keep {
					listed++
				}
			}
		}
	}
	if listed == 0 {
		t.Error("nothing was ever kept")
	}
}

// A kernel is asked to keep a listing at once, uses it as long as it would be told the same,
// and is told anew what has changed, was listed again, or lacks attributes.
func TestWhatTheKernelKeeps(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second *listing
		attributes    bool // of all entries, through the first
		keeps         bool
	}{
		"the same, with attributes":        {&listing{}, &listing{}, true, true},
		"the same, without":                {&listing{}, &listing{}, false, false},
		"names after attributes":           {&listing{}, &listing{byName: true}, true, true},
		"names after names":                {&listing{byName: true}, &listing{byName: true}, false, true},
		"attributes after names":           {&listing{byName: true}, &listing{}, false, false},
		"others":                           {&listing{}, &listing{version: 1}, true, false},
		"listed again, and nothing is new": {&listing{}, &listing{serials: [2]uint64{1, 0}}, true, false},
		"nothing twice":                    {&listing{whole: true}, &listing{whole: true}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var k kernelList
			if keep, _ := k.opening(tt.first); !keep {
				t.Fatal("the first is not kept")
			}
			if tt.attributes {
				k.wasWhole(false)
			}
			k.closed()
			keep, d := k.opening(tt.second)
			if keep != tt.keeps {
				t.Fatalf("kept: %v", keep)
			}
			if keep {
				return
			}
			if again, _ := k.opening(tt.second); again {
				t.Error("kept before the kernel has dropped the other")
			}
			k.dropped(d)
			if again, _ := k.opening(tt.second); !again {
				t.Error("not kept afterwards")
			}
		})
	}
}
