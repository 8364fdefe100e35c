package corpus

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// generator makes one corpus.
type generator struct {
	*Corpus
	noise
	marks uint64
}

func (c *Corpus) generate() error {
	g := &generator{Corpus: c, noise: newNoise(), marks: c.Seed << 32}
	for _, dir := range []string{c.In(), filepath.Join(c.Tree(), "IN")} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return err
		}
	}
	for _, part := range []func() error{g.wide, g.many, g.small, g.in} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// random returns the numbers of a part: another part does not change them.
func (g *generator) random(part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(g.Seed, part)) //nolint:gosec // test data, the same each time
}

// add makes a document of the tree.
func (g *generator) add(path string, size int64) error {
	g.marks++
	return g.write(filepath.Join(g.Tree(), path), g.marks, size)
}

func (g *generator) folder(path string) error {
	return os.MkdirAll(filepath.Join(g.Tree(), path), 0o750)
}

func (g *generator) wide() error {
	r := g.random('W')
	g.Wide = filepath.Join("W", mandators()[0], "Alle Belege")
	g.W = Count{Folders: 3, Documents: g.Shape.Wide}
	if err := g.folder(g.Wide); err != nil {
		return err
	}
	for i := range g.Shape.Wide {
		if err := g.add(filepath.Join(g.Wide, documentName(r, i)), 500+r.Int64N(1300)); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) many() error {
	r := g.random('M')
	g.Part = filepath.Join("M", mandators()[0])
	i := 0
	for m, mandator := range mandators()[:g.Shape.Mandators] {
		for _, f := range folders(g.Shape.Leaves) {
			dir := filepath.Join("M", mandator, f)
			if err := g.folder(dir); err != nil {
				return err
			}
			g.M.Folders++
			for range g.Shape.Documents {
				i++
				if err := g.add(filepath.Join(dir, documentName(r, i)), 500+r.Int64N(3000)); err != nil {
					return err
				}
			}
		}
		if m == 0 {
			g.M500 = Count{Folders: g.M.Folders + 1, Documents: i}
		}
	}
	g.M = Count{Folders: g.M.Folders + g.Shape.Mandators + 1, Documents: i}
	return nil
}

func (g *generator) small() error {
	r := g.random('S')
	var paths []string // relative to S
	for _, mandator := range mandators()[:2] {
		for _, f := range folders(g.Shape.SLeaves) {
			if err := g.folder(filepath.Join("S", mandator, f)); err != nil {
				return err
			}
			g.S.Folders++
			for range g.Shape.SDocuments {
				path := filepath.Join(mandator, f, documentName(r, len(paths)+1))
				if err := g.add(filepath.Join("S", path), letterSize(r)); err != nil {
					return err
				}
				paths = append(paths, path)
			}
		}
	}
	g.S = Count{Folders: g.S.Folders + 3, Documents: len(paths)}
	if err := g.large(); err != nil {
		return err
	}
	if err := writeList(g.SmallList(), paths); err != nil {
		return err
	}
	var sample []string
	for i := 0; i < len(paths) && len(sample) < g.Shape.Sample; i += max(1, len(paths)/g.Shape.Sample) {
		sample = append(sample, paths[i])
	}
	return writeList(g.SampleList(), sample)
}

// letterSize is the size of a scanned letter: 150 KB on average, most smaller, few much larger.
func letterSize(r *rand.Rand) int64 {
	return int64(min(4e6, max(5000, 110e3*math.Exp(.8*r.NormFloat64()))))
}

// large makes the scans and the big document.
func (g *generator) large() error {
	dir := filepath.Join("S", mandators()[0], folders(0)[0])
	g.Big = filepath.Join(dir, "Gesamtarchiv Übernahme.pdf")
	g.S.Documents += g.Shape.Scans + 1
	for i := range g.Shape.Scans {
		if err := g.add(filepath.Join(dir, "Großscan Pläne "+string(rune('0'+i))+".pdf"), g.Shape.ScanSize); err != nil {
			return err
		}
	}
	return g.add(g.Big, g.Shape.BigSize)
}

// in makes what is copied in.
func (g *generator) in() error {
	r := g.random('I')
	for i := range g.Shape.In {
		g.marks++
		size := letterSize(r)
		if err := g.write(filepath.Join(g.In(), documentName(r, i)), g.marks, size); err != nil {
			return err
		}
		g.InFiles++
		g.InBytes += size
	}
	g.marks++
	return g.write(g.BigIn(), g.marks, g.Shape.BigSize)
}
