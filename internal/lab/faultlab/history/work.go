package history

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// LongGrace is a time of grace that no session outlasts.
const LongGrace = time.Hour

// grace draws the time of grace of a session.
func (g *generator) grace() time.Duration {
	switch g.rng.IntN(4) {
	case 0:
		return time.Duration(50+g.rng.IntN(400)) * time.Millisecond
	case 1:
		return LongGrace
	}
	return 0
}

// work is what a program has made, if all went well, and goes on with.
type work struct {
	index int // of the action that began it
	tree  Tree
	made  int // folders and files so far
}

// works draws the ops of an action: of a new program, or of one that goes on in a later step.
func (g *generator) works(a *Action, grace time.Duration) {
	w := &work{index: a.Index, tree: Tree{}}
	if len(g.idle) > 0 && g.rng.IntN(2) == 0 {
		w, g.idle = g.idle[0], g.idle[1:]
	}
	g.busy = append(g.busy, w)
	a.Tree = w.index
	for range 3 + g.rng.IntN(5) {
		o := g.op(w, grace)
		after, ok := w.tree.After(o)
		if !ok {
			continue
		}
		w.tree = after
		a.Ops = append(a.Ops, o)
	}
}

// op draws the next op of a program.
func (g *generator) op(w *work, grace time.Duration) Op {
	var files, folders []string
	for p, of := range w.tree {
		if of < 0 {
			folders = append(folders, p)
		} else {
			files = append(files, p)
		}
	}
	slices.Sort(files)
	slices.Sort(folders)
	all := append(slices.Clone(folders), files...)
	draw := g.rng.IntN(16)
	if len(all) == 0 {
		draw %= 4
	}
	switch {
	case draw < 2:
		return Op{Do: Make, Path: path.Join(g.parent(folders), g.folderName(w)), Of: -w.index*100 - w.made}
	case draw < 5:
		return Op{Do: Put, Path: path.Join(g.holder(folders), g.fileName(w)), Of: g.index(), Size: max(2, g.size()/8)}
	case draw == 5 && len(files) > 0:
		return Op{Do: Put, Path: pick(g.rng, files), Of: g.index(), Size: max(2, g.size()/8)}
	case draw < 11:
		return g.rename(w, pick(g.rng, all), files, folders)
	case draw < 13:
		return Op{Do: Drop, Path: pick(g.rng, all)}
	case draw == 13 && grace > 0:
		return Op{Do: Send, Path: pick(g.rng, all)}
	}
	return Op{Do: Pause, For: time.Duration(g.rng.IntN(500)) * time.Millisecond}
}

// rename draws a new name or place for what has the path p.
func (g *generator) rename(w *work, p string, files, folders []string) Op {
	o := Op{Do: Name, Path: p}
	isFolder := slices.Contains(folders, p)
	inside := func(to string) bool { return to == p || strings.HasPrefix(to, p+"/") }
	folders = slices.DeleteFunc(slices.Clone(folders), inside)
	files = slices.DeleteFunc(slices.Clone(files), inside)
	switch draw := g.rng.IntN(6); {
	case isFolder && draw == 0 && len(folders) > 0:
		o.To = pick(g.rng, folders)
	case !isFolder && draw == 0 && len(files) > 0:
		o.To = pick(g.rng, files)
	case draw == 1: // its name goes along
		o.To = path.Join(g.holder(folders), path.Base(p))
	case isFolder:
		o.To = path.Join(g.parent(folders), g.folderName(w))
	default:
		o.To = path.Join(g.holder(folders), g.fileName(w))
	}
	hides := path.Dir(p) == path.Dir(o.To) && strings.HasPrefix(p, Inbox) && (Doubted(o.To) || Stays(path.Base(o.To)))
	if o.To == p || hides && !isFolder { // an inbox document would stay, hidden, beside a copy
		return Op{Do: Pause}
	}
	return o
}

// holder draws where a file may be, parent where a folder may be.
func (g *generator) holder(folders []string) string {
	return pick(g.rng, append([]string{Folder, Inbox}, folders...))
}

func (g *generator) parent(folders []string) string {
	return pick(g.rng, append([]string{Folder, Inbox, Mandator}, folders...))
}

// folderName and fileName draw names: most are real, some are those that programs work under.
func (g *generator) folderName(w *work) string {
	w.made++
	shape := pick(g.rng, []string{"%s", "%s", "%s", "%s", unison, safe})
	return fmt.Sprintf(shape, fmt.Sprintf("Ordner %d.%d", w.index, w.made))
}

func (g *generator) fileName(w *work) string {
	w.made++
	shape := pick(g.rng, []string{"%s", "%s", "%s", "%s", doubted, part})
	return fmt.Sprintf(shape, fmt.Sprintf("blatt-%d-%d.txt", w.index, w.made))
}

// mayGoOn lets programs of the steps so far go on with their work in the next one.
func (g *generator) mayGoOn() {
	g.idle, g.busy = append(g.idle, g.busy...), nil
}
