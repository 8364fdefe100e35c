package main

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// fuseConf is where the administrator allows users what only root may do else.
const fuseConf = "/etc/fuse.conf"

// mayLetOthersIn refuses --allow-other where the configuration of FUSE does not allow it to
// the user. One that cannot be read is left to the helper that mounts.
func mayLetOthersIn(uid int, conf string) error {
	text, err := os.ReadFile(conf) //nolint:gosec // the configuration of FUSE
	if uid == 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if slices.Equal(strings.Fields(line), []string{"user_allow_other"}) {
			return nil
		}
	}
	return errors.New("--allow-other needs user_allow_other in " + conf + ", on a line of its own; root can write it there")
}
