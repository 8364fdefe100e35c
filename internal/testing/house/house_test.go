package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const room = "testdata/room"

func loadRoom(t *testing.T) []*packages.Package {
	t.Helper()
	ps, err := load(room)
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

func TestFiguresOfAModule(t *testing.T) {
	got := count(loadRoom(t))
	slices.SortFunc(got, func(a, b figure) int {
		return strings.Compare(string(a.kind)+a.of, string(b.kind)+b.of)
	})
	want := []figure{
		{files, "", 1},
		{files, "attic", 1},
		{files, "cmd/cellar", 1},
		{files, "internal/lab/wire", 1},
		{files, "stone", 1},
		{knot, "", 17},
		{knot, "attic", 0},
		{knot, "cmd/cellar", 0},
		{knot, "internal/lab/wire", 0},
		{knot, "stone", 0},
		{product, "", 69},
		{locks, "cmd/cellar: stone.Mu", 2},
		{offered, ".Door", 2},
		{offered, ".Wall", 2},
		{offered, "cmd/cellar.Floor", 2},
		{offered, "stone.Stone", 1},
		{methods, ".Door", 2},
		{methods, ".Wall", 1},
		{methods, "cmd/cellar.Floor", 1},
		{methods, "stone.Stone", 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, bound int
		want     string
	}{
		{"within the bound", 40, 40, ""},
		{"over the bound and accepted", 42, 40, ""},
		{"over what is accepted", 43, 40, "files of a package fs: 43, at most 42"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := limit{files, c.bound, map[string]int{"fs": 42, "cache": 6}}
			said := ""
			if err := l.check([]figure{{files, "cache", 7}, {files, "fs", c.n}, {methods, "fs.dir", 99}}); err != nil {
				said = err.Error()
			}
			if said != c.want {
				t.Errorf("got %q, want %q", said, c.want)
			}
		})
	}
}

func TestForbiddenImports(t *testing.T) {
	err := checkImports(room, loadRoom(t))
	if err == nil {
		t.Fatal("nothing is forbidden")
	}
	dir, err2 := filepath.Abs(room)
	if err2 != nil {
		t.Fatal(err2)
	}
	got := strings.Split(strings.ReplaceAll(err.Error(), dir+"/", ""), "\n")
	slices.Sort(got)
	want := []string{
		"cmd/cellar/cellar.go:5:2: import 'example.com/room' is not allowed from list 'cellar': the cellar holds the house up",
		"room.go:4:8: import 'net/http' is not allowed from list 'laboratory': only the laboratory has a wire",
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}
