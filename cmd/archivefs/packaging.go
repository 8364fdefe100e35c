//go:build packaging

package main

import "github.com/archivefs/archivefs/cmd/archivefs/internal/manual"

func init() { packageFiles = manual.Command }
