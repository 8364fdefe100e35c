//go:build linux

package tour

// pcmanfm is the file manager of LXDE.
func pcmanfm(g *guide) {
	g.Version = g.run(`dpkg-query -Wf '${Package} ${Version}' pcmanfm`)
	g.Note = "It takes entries of menus and emblems only from compiled modules of libfm, which the packages do not contain. It remembers which documents it\n" +
		"got no thumbnail of until the folder is opened again."
	m := &manager{
		guide: g, program: "pcmanfm", command: `exec pcmanfm --new-win %q`,
		newFolder: "ctrl+shift+n", create: "OK", replace: "Overwrite", remove: "Yes", says: []string{"not permitted"},
		sure: "Yes", trashes: []string{"support"}, room: "Free space", about: "1073 bytes",
	}
	m.run(`mkdir -p "$XDG_CONFIG_HOME/pcmanfm/default" && printf '[ui]\nview_mode=list\n' >"$XDG_CONFIG_HOME/pcmanfm/default/pcmanfm.conf"`)
	m.steps()
	m.fifty("with thumbnails (evince-thumbnailer)", "", 0, true)
}
