//go:build linux

package tour

import "github.com/archivefs/archivefs/internal/lab/desktop/office"

// dolphin is the file manager of KDE.
func dolphin(g *guide) {
	g.Version = g.run("dolphin --version")
	g.Note = "It takes emblems, and entries of menus for the files of an archive alone, only from compiled plugins, which the packages do not contain. It\n" +
		"looks for a thumbnail that it was refused when the folder is opened again."
	m := &manager{
		guide: g, program: "dolphin", command: `exec dolphin --new-window %q`,
		newFolder: "F10", create: "OK", replace: "Overwrite", remove: "Delete", says: []string{"Could not write to", "Access denied", "Could not delete"}, asks: true,
		trashes: []string{"Access denied", "Could not", "not permitted"}, room: "free", about: "Properties for Terms.pdf",
	}
	const view = ".local/share/dolphin/view_properties/global"
	m.run(`cd && mkdir -p ` + view + ` && printf '[Dolphin]\nVersion=4\nViewMode=1\n' >` + view + `/.directory
		printf '[General]\nRenameInline=false\n[DetailsMode]\nIconSize=16\nPreviewSize=16\n[IconsMode]\nPreviewSize=64\n' >.config/dolphinrc`)
	m.steps()
	// It opens all of them itself, and reads nothing; a mount sees that when the first ones are closed.
	m.fifty("with thumbnails (kioslave5)", `cd && printf '[Dolphin]\nVersion=4\nViewMode=0\nPreviewsShown=true\n' >`+view+`/.directory`, 4*office.ScanSize, true)
}
