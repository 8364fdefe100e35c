package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/server"
)

// wantDirectory refuses an operand of --import that is no directory, before anything is made.
func wantDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return config.Usagef("--import: %v", err)
	}
	if !info.IsDir() {
		return config.Usagef("--import: %s is no directory", dir)
	}
	return nil
}

// bringIn imports dir into the archive, if one is given, and returns how many of its
// entries stay out; what they are stands in the log. An empty archive gets an inbox
// beside it, and the mandators that dir has.
func bringIn(ctx context.Context, srv *server.Server, dir string, log *logrus.Logger) (skipped int, err error) {
	if dir == "" {
		return 0, nil
	}
	empty, err := srv.Empty(ctx)
	if err != nil {
		return 0, err
	}
	if empty {
		if _, err := srv.AddInbox(ctx, 1, "Inbox"); err != nil {
			return 0, err
		}
	}
	w := &watched{began: time.Now()}
	stop := w.watch(ctx, dir, log)
	made, err := srv.Import(ctx, server.Import{
		Dir: dir, Done: w.done,
		Skipped: func(path, reason string) {
			log.Warnf("import: skipped %s: %s", archive.Printable(path), archive.Printable(reason))
		},
	})
	stop()
	if err != nil {
		return made.Skipped, fmt.Errorf("%w; before that %s: call it again to bring in the rest", err, w.sentence(made))
	}
	level, told := logrus.InfoLevel, ""
	if made.Skipped > 0 {
		level, told = logrus.WarnLevel, ", as said above; all else is in the archive and served, and the exit status will be 1"
	}
	log.Logf(level, "import of %s: %s%s", archive.Printable(dir), w.sentence(made), told)
	return made.Skipped, nil
}

// watched counts what an import has dealt with.
type watched struct {
	began time.Time
	files atomic.Int64
	bytes atomic.Int64
}

func (w *watched) done(size int64) {
	w.files.Add(1)
	w.bytes.Add(size)
}

// watch shows what is left of an import, where the log goes to a terminal, until stop.
func (w *watched) watch(ctx context.Context, dir string, log *logrus.Logger) (stop func()) {
	out := log.Out
	bar := newProgress(out)
	if bar == nil {
		return func() {}
	}
	log.SetOutput(bar)
	end := bar.follow(ctx, func(ctx context.Context) backlog { return measure(ctx, dir) }, func() backlog {
		return backlog{uploads: int(w.files.Load()), bytes: w.bytes.Load()}
	})
	return func() {
		end()
		log.SetOutput(out)
	}
}

// measure counts the files of a tree. What cannot be read does not count.
func measure(ctx context.Context, dir string) backlog {
	all := backlog{what: "document"}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // it is only for show
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			all.add(info.Size())
		}
		return nil
	})
	return all
}

// sentence says in words what was imported.
func (w *watched) sentence(made server.Imported) string {
	text := fmt.Sprintf("%s and %s, %s, in %s", plural(made.Documents, "document"), plural(made.Folders, "folder"),
		size(made.Bytes), time.Since(w.began).Round(100*time.Millisecond))
	if made.Present > 0 {
		text += fmt.Sprintf("; %s had been there before", plural(made.Present, "document"))
	}
	if made.Skipped > 0 {
		text += "; skipped " + plural(made.Skipped, "entry")
	}
	return text
}
