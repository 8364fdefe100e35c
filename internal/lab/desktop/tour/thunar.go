//go:build linux

package tour

// thunar is the file manager of Xfce.
func thunar(g *guide) {
	g.Version = g.run("thunar --version | head -1")
	g.Note = "Its extensions cannot show emblems: a page of the properties says what Nautilus shows by them."
	m := &manager{
		guide: g, program: "Thunar", command: `exec thunar %q`,
		newFolder: "ctrl+shift+n", create: "Create", replace: "Replace", remove: "Delete", says: []string{"not permitted"},
		trashes: []string{"trash directory"}, room: "Free space", about: "1073 bytes",
	}
	m.run(`xfconf-query -c thunar -n -t string -p /default-view -s ThunarDetailsView`)
	m.steps()
	m.fifty("with thumbnails (tumblerd)", "", 0, true)
	m.fifty("without thumbnails", `xfconf-query -c thunar -n -t string -p /misc-thumbnail-mode -s THUNAR_THUMBNAIL_MODE_NEVER`, 0, false)
	p := packaged{m}
	p.menuEntry()
	m.notification()
	p.statePage()
	p.menu()
}
