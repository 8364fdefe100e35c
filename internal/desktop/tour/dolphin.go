//go:build linux

package tour

// dolphin is the file manager of KDE.
func dolphin(g *guide) {
	g.Version = g.run("dolphin --version")
	m := &manager{
		guide: g, program: "dolphin", command: `exec dolphin --new-window %q`,
		newFolder: "F10", create: "OK", replace: "Overwrite", remove: "Delete", says: "denied",
	}
	m.steps()
	m.fifty("with thumbnails (kioslave5)", "")
}
