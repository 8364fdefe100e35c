//go:build linux

package tour

// pcmanfm is the file manager of LXDE.
func pcmanfm(g *guide) {
	g.Version = g.run(`dpkg-query -Wf '${Package} ${Version}' pcmanfm`)
	g.Note = "It has no emblems, and takes entries of menus for the files of an archive alone only from compiled modules, which the packages do not\n" +
		"contain. It looks for a thumbnail that it was refused when the folder is opened again."
	m := &manager{
		guide: g, program: "pcmanfm", command: `exec pcmanfm --new-win %q`,
		newFolder: "ctrl+shift+n", create: "OK", replace: "Overwrite", remove: "Yes", says: []string{"not permitted"},
		sure: "Yes", trashes: []string{"support"}, room: "Free space", about: "1073 bytes",
	}
	m.run(`mkdir -p "$XDG_CONFIG_HOME/pcmanfm/default" && printf '[ui]\nview_mode=list\n' >"$XDG_CONFIG_HOME/pcmanfm/default/pcmanfm.conf"`)
	m.steps()
	m.fifty("with thumbnails (evince-thumbnailer)", "", 0, true)
}
