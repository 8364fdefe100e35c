package names

import (
	"regexp"
	"strings"
)

// Windows says whether names are shown in a form that Windows can open. It drops a dot and a blank at the end
// of a name, and takes some names for devices, with any extension.
type Windows bool

// lasts are last characters, and what is shown for them: what Services for Macintosh had, and the clients of
// macOS and Linux turn back (mount.cifs(8), mapposix).
var lasts = [...][2]string{{" ", "\uf028"}, {".", "\uf029"}}

// device matches the names of devices, apart from what is behind them ("Naming Files, Paths, and Namespaces" of
// Microsoft). They are shown with noDevice there.
var device = regexp.MustCompile(`(?is)^((?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *)(\..*)?$`)

const noDevice = "\uf05f"

// Shown returns the form of a name that is shown.
func (w Windows) Shown(name string) string {
	if !w {
		return name
	}
	shown := device.ReplaceAllString(name, "${1}"+noDevice+"${2}")
	for _, last := range lasts {
		if stem, ok := strings.CutSuffix(shown, last[0]); ok {
			shown = stem + last[1]
		}
	}
	if len(shown) > Max {
		return name
	}
	return shown
}

// Meant returns the name of which a name is the shown form, else the name itself.
func (w Windows) Meant(name string) string {
	meant := strings.Replace(name, noDevice, "", 1)
	for _, last := range lasts {
		if stem, ok := strings.CutSuffix(meant, last[1]); ok {
			meant = stem + last[0]
		}
	}
	if w.Shown(meant) != name {
		return name
	}
	return meant
}
