//go:build linux

package screen

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"
)

// Node is something that a program shows: a window, a button, a line of text.
type Node struct {
	Name, Role, Text string
	X, Y, W, H       int // on the screen
	Focused          bool
	Children         []*Node
	ref              reference
}

// reference is where a node is asked for.
type reference struct {
	Bus  string
	Path dbus.ObjectPath
}

// States of AT-SPI, as bits.
const (
	stateFocused = 1 << 12
	stateShowing = 1 << 25
	stateVisible = 1 << 30
)

// mostNodes bounds what is read of one program.
const mostNodes = 6000

const accessible = "org.a11y.atspi.Accessible"

// Gone waits until no program of that name shows anything.
func (s *Screen) Gone(ctx context.Context, program string) error {
	return Until(ctx, "the end of "+program, func() (bool, error) {
		all, err := s.programs(ctx)
		return !slices.ContainsFunc(all, func(p *Node) bool { return strings.EqualFold(p.Name, program) }), err
	})
}

// programs are the programs that show something, with their windows.
func (s *Screen) programs(ctx context.Context) ([]*Node, error) {
	root := &Node{ref: reference{"org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root"}}
	refs, err := s.children(ctx, root.ref)
	if err != nil {
		return nil, err
	}
	var all []*Node
	for _, ref := range refs {
		all = append(all, &Node{Name: s.text(ctx, ref, accessible, "Name"), ref: ref})
	}
	return all, nil
}

// Everything tells what all programs show, for whoever looks why a step failed.
func (s *Screen) Everything(ctx context.Context) string {
	all, err := s.programs(ctx)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, p := range all {
		t, err := s.Tree(ctx, p.Name)
		fmt.Fprintln(&b, t, err)
	}
	return b.String()
}

// Tree is what a program shows by now. A program that is not there shows nothing.
func (s *Screen) Tree(ctx context.Context, program string) (*Node, error) {
	top := &Node{Name: program}
	all, err := s.programs(ctx)
	if err != nil {
		return nil, err
	}
	g := grower{s: s, left: mostNodes}
	for _, p := range all {
		if !strings.EqualFold(p.Name, program) {
			continue
		}
		g.gtk4 = strings.HasPrefix(s.text(ctx, p.ref, "org.a11y.atspi.Application", "Version"), "4.")
		refs, err := s.children(ctx, p.ref)
		if err != nil {
			continue // it is ending
		}
		for _, ref := range refs {
			n := len(top.Children)
			g.grow(ctx, top, ref)
			if g.gtk4 && len(top.Children) > n {
				s.settle(ctx, top.Children[n])
			}
		}
	}
	return top, nil
}

// grower reads the nodes of programs.
type grower struct {
	s    *Screen
	left int // nodes
	// gtk4: the program calls what it shows visible, as others call what is hidden by
	// something else, and tells places within its window.
	gtk4 bool
}

// grow reads a node and what is below it. What is not shown is left out; so is what goes
// away while it is read.
func (g *grower) grow(ctx context.Context, parent *Node, ref reference) {
	s := g.s
	if g.left--; g.left < 0 || ref.Path == "/org/a11y/atspi/null" {
		return
	}
	shown := uint32(stateShowing)
	if g.gtk4 {
		shown = stateVisible
	}
	var states []uint32
	if s.call(ctx, ref, accessible+".GetState").Store(&states) != nil || len(states) == 0 || states[0]&shown == 0 {
		return
	}
	n := &Node{ref: ref, Name: s.text(ctx, ref, accessible, "Name"), Focused: states[0]&stateFocused != 0}
	_ = s.call(ctx, ref, accessible+".GetRoleName").Store(&n.Role) // one that went away has none
	var box struct{ X, Y, W, H int32 }
	if s.call(ctx, ref, "org.a11y.atspi.Component.GetExtents", uint32(0)).Store(&box) == nil {
		n.X, n.Y, n.W, n.H = int(box.X), int(box.Y), int(box.W), int(box.H)
	}
	if slices.Contains(withText, n.Role) {
		_ = s.call(ctx, ref, "org.a11y.atspi.Text.GetText", int32(0), int32(-1)).Store(&n.Text) // most have none
	}
	parent.Children = append(parent.Children, n)
	refs, err := s.children(ctx, ref)
	if err != nil {
		return
	}
	for _, child := range refs {
		g.grow(ctx, n, child)
	}
}

// withText are the roles of nodes that have a text beside their name.
var withText = []string{"text", "entry", "label", "text box", "editbar", "paragraph"}

// settle moves what is told about a window to where the window is on the screen. The program
// draws its frame itself, equally wide on all sides.
func (s *Screen) settle(ctx context.Context, window *Node) {
	for _, id := range s.Windows(ctx, "^"+regexp.QuoteMeta(window.Name)+"$") {
		out, err := s.Run(ctx, "xdotool getwindowgeometry --shell "+id)
		if err != nil {
			continue // it is closing
		}
		var x, y, w, h int
		for line := range strings.Lines(out) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if to, wanted := map[string]*int{"X": &x, "Y": &y, "WIDTH": &w, "HEIGHT": &h}[name]; wanted {
				*to, _ = strconv.Atoi(value) // it prints numbers
			}
		}
		window.move(x+(w-window.W)/2, y+(h-window.H)/2)
		return
	}
}

func (n *Node) move(x, y int) {
	n.X, n.Y = n.X+x, n.Y+y
	for _, c := range n.Children {
		c.move(x, y)
	}
}

func (s *Screen) children(ctx context.Context, ref reference) (refs []reference, err error) {
	err = s.call(ctx, ref, accessible+".GetChildren").Store(&refs)
	return refs, err
}

func (s *Screen) call(ctx context.Context, ref reference, method string, args ...any) *dbus.Call {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	return s.a11y.Object(ref.Bus, ref.Path).CallWithContext(ctx, method, 0, args...)
}

func (s *Screen) text(ctx context.Context, ref reference, iface, property string) string {
	var v dbus.Variant
	if s.call(ctx, ref, "org.freedesktop.DBus.Properties.Get", iface, property).Store(&v) != nil {
		return ""
	}
	text, _ := v.Value().(string)
	return text
}

// Act does what a node is for: it presses a button.
func (s *Screen) Act(ctx context.Context, n *Node) error {
	var done bool
	err := s.call(ctx, n.ref, "org.a11y.atspi.Action.DoAction", int32(0)).Store(&done)
	if err == nil && !done {
		err = fmt.Errorf("%s %q does nothing", n.Role, n.Name)
	}
	return err
}

// All are the nodes below this one that are wanted, in the order of the program.
func (n *Node) All(wanted func(*Node) bool) []*Node {
	var all []*Node
	for _, c := range n.Children {
		if wanted(c) {
			all = append(all, c)
		}
		all = append(all, c.All(wanted)...)
	}
	return all
}

// Words are all texts of a node and below it, each once.
func (n *Node) Words() string {
	var words []string
	for _, c := range append([]*Node{n}, n.All(func(*Node) bool { return true })...) {
		for _, w := range []string{c.Name, c.Text} {
			if w = strings.Join(strings.Fields(w), " "); w != "" && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	return strings.Join(words, " | ")
}

// String shows the whole tree.
func (n *Node) String() string {
	var b strings.Builder
	n.print(&b, 0)
	return b.String()
}

func (n *Node) print(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%*s%s %q %q %d,%d %dx%d\n", 2*depth, "", n.Role, n.Name, n.Text, n.X, n.Y, n.W, n.H)
	for _, c := range n.Children {
		c.print(b, depth+1)
	}
}
