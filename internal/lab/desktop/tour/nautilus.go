//go:build linux

package tour

// nautilus is the file manager of GNOME.
func nautilus(g *guide) {
	g.Version = g.run("nautilus --version")
	m := &manager{
		guide: g, program: "org.gnome.Nautilus", command: `exec nautilus --new-window %q`,
		newFolder: "ctrl+shift+n", create: "Create", replace: "Replace", remove: "Delete", says: []string{"not permitted"},
		trashes: []string{"put in the trash"}, about: "1.1 kB", byKeys: true,
	}
	m.run(`gsettings set org.gnome.nautilus.preferences default-folder-viewer list-view`)
	m.steps()
	m.fifty("with thumbnails (evince-thumbnailer)", "", 0, true)
	p := packaged{m}
	p.emblems()
	p.menu()
}
