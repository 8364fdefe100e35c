//go:build linux

package visit

import (
	"context"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/windows"
)

// each visits a share with a mount for each person, by archivefs share samba --each.
func each(ctx context.Context, a *host.Archive, log func(format string, args ...any)) (chapters []Chapter, err error) {
	h, err := host.Export(ctx, a, host.Options{Name: "each", People: 2, Each: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	v, err := arrive(ctx, h, log)
	if err != nil {
		return nil, err
	}
	for i, client := range []**hand{&v.pc, &v.next} {
		if *client, err = connect(ctx, h, host.Person(i)); err != nil {
			return nil, err
		}
		defer (*client).Close() //nolint:errcheck // it ends with this process at the latest
	}
	v.chapter("A mount for each person (--each)")
	v.step("Two people open the share", "each is in the mount of their own, which began then", v.pc.shows("", []string{host.Mandator, "inboxes"}, ".archivefs"), v.next.shows("", []string{host.Mandator}))
	one := letters + "Of one person.txt"
	v.step("One copies a file in", "archived once", v.pc.copyIn(one, one), v.becomes(one, one))
	v.step("The mount of one person crashes, and comes back", "that person connects to the share again, and goes on; the other does not notice", v.crashOfOne(host.Person(0)))
	after := letters + "After the crash of one.txt"
	v.step("Go on", "what is copied is archived once", v.pc.copyIn(after, after), v.becomes(after, after))
	return v.run(ctx), nil
}

// crashOfOne kills the mount of a person while the other writes.
func (v *visit) crashOfOne(person string) deed {
	return func(ctx context.Context) (string, error) {
		path, content := letters+"Meanwhile of the other.txt", text("Meanwhile of the other", 100<<10)
		how := windows.How{Access: windows.Read | windows.Write | windows.Delete, Options: windows.File, Disposition: windows.Create}
		err := v.next.with(path, how, func(f *windows.Handle) error {
			if _, err := f.WriteAt([]byte(content[:50<<10]), 0); err != nil {
				return err
			}
			if err := v.host.KillMountOf(person); err != nil {
				return err
			}
			if _, err := v.pc.List(letters); err == nil {
				return errors.New("the share is as it was")
			}
			if err := v.host.RemountOf(ctx, person); err != nil {
				return err
			}
			_, err := f.WriteAt([]byte(content[50<<10:]), 50<<10)
			return err
		})
		if err != nil {
			return "", err
		}
		seen := "the connection that there was goes on"
		if _, err := v.pc.List(letters); err != nil {
			seen = fmt.Sprintf("%v until the share is connected to again", err)
			if err := v.pc.Tree(); err != nil {
				return "", err
			}
			if _, err := v.pc.List(letters); err != nil {
				return "", err
			}
		}
		_, err = v.becomes(path, content)(ctx)
		return seen, err
	}
}
