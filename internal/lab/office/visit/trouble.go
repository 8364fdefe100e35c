//go:build linux

package visit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/windows"
)

// trouble is what happens when the service or the mount fails.
func (v *visit) trouble() {
	pc := v.pc
	v.chapter("When something fails")
	away := text("The service is away", 100<<10)
	v.step("Drag a file into a folder while the service is away", "no error; it waits among the uploads, and is archived once when the service is back",
		v.serviceGone, pc.copyIn(letters+"Away.txt", away), v.listed("pending", letters+"Away.txt"), v.serviceBack, v.becomes(letters+"Away.txt", away))
	v.step("Drag a file into an inbox while the service is away", "no error; it waits among the uploads, and is stored once when the service is back",
		v.serviceGone, pc.copyIn(inbox+"Away.txt", away+"in the inbox"), v.listed("pending", inbox+"Away.txt"), v.serviceBack, v.becomes(inbox+"Away.txt", away+"in the inbox"))
	v.step("The mount crashes while a client writes, and is mounted again", "nothing of the half file is archived, and it is among the uploads; the client goes on after it has connected to the share again", v.crash)
	after := text("After the crash", 100<<10)
	v.step("Go on", "the other clients connect again, too; what is copied is archived once",
		plain(v.next.Tree), plain(v.mac.Tree), v.next.copyIn(letters+"After.txt", after), v.becomes(letters+"After.txt", after), v.mac.reads(letters+"After.txt", after))
}

func (v *visit) serviceGone(ctx context.Context) (string, error) {
	v.host.Wire.Fail(proxy.Fault{Op: proxy.Any, Nth: 1, Times: 1 << 30, Deed: proxy.ResetBefore})
	return "", nil
}

func (v *visit) serviceBack(ctx context.Context) (string, error) { return "", v.host.Wire.Heal() }

// fails copies a file in, which has to fail. Which status tells it is Samba's affair.
func (h *hand) fails(path, content string) deed {
	return func(ctx context.Context) (string, error) {
		_, err := h.copyIn(path, content)(ctx)
		var status windows.StatusError
		if !errors.As(err, &status) {
			return "", fmt.Errorf("it did not fail: %w", err)
		}
		return "an error: " + string(status), nil
	}
}

// listed waits for a file among the uploads.
func (v *visit) listed(state, path string) deed {
	return func(ctx context.Context) (string, error) {
		_, err := v.upload(ctx, state, path)
		return "it is listed as " + state, err
	}
}

func (v *visit) upload(ctx context.Context, state, path string) (u host.Upload, err error) {
	err = host.Until(ctx, path+" among the uploads", func() (bool, error) {
		all, err := v.host.Uploads(ctx)
		i := slices.IndexFunc(all, func(u host.Upload) bool { return u.State == state && strings.HasSuffix(u.Path, path) })
		if err != nil || i < 0 {
			return false, errors.Join(err, fmt.Errorf("there is %v", all))
		}
		u = all[i]
		return true, nil
	})
	return u, err
}

// retried retries a failed upload.
func (v *visit) retried(path string) deed {
	return func(ctx context.Context) (string, error) {
		u, err := v.upload(ctx, "failed", path)
		if err != nil {
			return "", err
		}
		return "", v.host.Retry(ctx, u.ID)
	}
}

// crash kills the mount while a client has written half of a file, and mounts the archive again.
func (v *visit) crash(ctx context.Context) (string, error) {
	half := "%PDF-1.7\n" + text("Half", 100<<10)
	how := windows.How{Access: windows.Read | windows.Write | windows.Delete, Options: windows.File, Disposition: windows.Create}
	f, err := v.pc.Open(inbox+"Half.pdf", how)
	if err != nil {
		return "", err
	}
	if _, err := f.WriteAt([]byte(half), 0); err != nil {
		return "", err
	}
	v.host.KillMount()
	if _, err := v.pc.List(letters); err == nil {
		return "", errors.New("the share is as it was")
	}
	if err := v.host.Remount(ctx); err != nil {
		return "", err
	}
	err = host.Until(ctx, "the share", func() (bool, error) {
		if _, err := v.pc.List(letters); err == nil {
			return true, nil
		}
		return false, v.pc.Tree()
	})
	if err != nil {
		return "", err
	}
	if _, err := f.WriteAt([]byte("more"), int64(len(half))); err == nil {
		return "", errors.New("the file that was open can be written")
	}
	u, err := v.upload(ctx, "failed", "Half.pdf")
	if err != nil {
		return "", err
	}
	_, err = v.stays(ctx)
	return fmt.Sprintf("the upload failed (%d bytes): %s", u.Size, u.Error), err
}
