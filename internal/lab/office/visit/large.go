//go:build linux

package visit

import (
	"context"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// large visits the share of a machine whose archive has a folder of very many documents. For each new name
// Samba reads the whole folder, because it may have the name in another case.
func large(ctx context.Context, a *host.Archive, log func(format string, args ...any)) (chapters []Chapter, err error) {
	h, err := host.Export(ctx, a, host.Options{Name: "large", Mount: "--watch 0 --ttl 1h"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	v, err := arrive(ctx, h, log)
	if err != nil {
		return nil, err
	}
	if v.pc, err = connect(ctx, h, ""); err != nil {
		return nil, err
	}
	defer v.pc.Close() //nolint:errcheck // it ends with this process at the latest
	v.chapter(fmt.Sprintf("A folder of %d documents of today", host.ManyDocuments))
	v.step("Drag a file into it", "it is archived", v.many(1))
	v.step("Drag 50 more into it", "each is archived, and no folder is listed again", v.many(50), v.listedAgain)
	return v.run(ctx), nil
}

// many copies files into the large folder.
func (v *visit) many(files int) deed {
	return func(ctx context.Context) (string, error) {
		before, err := v.host.Documents(ctx, host.Many)
		if err != nil {
			return "", err
		}
		if v.lists, err = v.host.Requests(ctx, "document/list"); err != nil {
			return "", err
		}
		for i := range files {
			name := fmt.Sprintf("New %d of %d.txt", i, files)
			if _, err := v.pc.copyIn(host.Many+"/"+name, name)(ctx); err != nil {
				return "", err
			}
		}
		if err := v.host.Send(ctx); err != nil {
			return "", err
		}
		after, err := v.host.Documents(ctx, host.Many)
		if err == nil && len(after) != len(before)+files {
			err = fmt.Errorf("the archive has %d documents more", len(after)-len(before))
		}
		return "the archive has as many documents more", err
	}
}

// listedAgain counts the lists that the mount requested meanwhile.
func (v *visit) listedAgain(ctx context.Context) (string, error) {
	lists, err := v.host.Requests(ctx, "document/list")
	if err == nil && lists != v.lists {
		err = fmt.Errorf("documents were listed %d times", lists-v.lists)
	}
	return "no list of documents was requested", err
}
