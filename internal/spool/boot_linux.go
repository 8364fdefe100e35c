package spool

import (
	"os"
	"strings"
)

// boot names the run of the machine (random(4)), empty where the system does not tell.
func boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
