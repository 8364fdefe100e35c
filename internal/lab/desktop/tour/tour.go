//go:build linux

package tour

import (
	"context"

	"github.com/archivefs/archivefs/internal/lab/desktop/office"
	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
)

// visits are the programs, in the order in which they are visited.
var visits = []struct {
	name string
	do   func(*guide)
}{
	{"Thunar", thunar},
	{"PCManFM", pcmanfm},
	{"Nautilus", nautilus},
	{"Dolphin", dolphin},
	{"LibreOffice", libreoffice},
	{"Commands", commands},
	{"Chromium", chromium},
}

// Programs are the names of the programs that can be visited.
func Programs() (names []string) {
	for _, v := range visits {
		names = append(names, v.name)
	}
	return names
}

// Go visits one program, with what packages contain beside it from a directory. Pictures go to another one.
func Go(ctx context.Context, s *screen.Screen, o *office.Office, program, packaging, pictures string, log func(string, ...any)) *Visit {
	v := &Visit{Name: program}
	g := &guide{Visit: v, ctx: ctx, screen: s, office: o, packaging: packaging, pictures: pictures, log: log}
	for _, visit := range visits {
		if visit.name == program {
			visit.do(g)
		}
	}
	return v
}
