//go:build linux

package tour

// pcmanfm is the file manager of LXDE.
func pcmanfm(g *guide) {
	g.Version = g.run(`dpkg-query -Wf '${Package} ${Version}' pcmanfm`)
	m := &manager{
		guide: g, program: "pcmanfm", command: `exec pcmanfm --new-win %q`,
		newFolder: "ctrl+shift+n", create: "OK", replace: "Overwrite", remove: "Yes", says: []string{"not permitted"},
		sure: "Yes", trashes: []string{"support"}, room: "Free space", about: "1073 bytes",
	}
	m.run(`mkdir -p "$XDG_CONFIG_HOME/pcmanfm/default" && printf '[ui]\nview_mode=list\n' >"$XDG_CONFIG_HOME/pcmanfm/default/pcmanfm.conf"`)
	m.steps()
	m.fifty("with thumbnails (evince-thumbnailer)", "", 0, true)
}
