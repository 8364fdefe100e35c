package errno

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/whole"
)

func TestEveryKindHasAnErrno(t *testing.T) {
	for kind := range archive.KindEnd {
		if errno, ok := ofKind[kind]; !ok || errno == 0 {
			t.Errorf("the kind %q has no errno", kind)
		} else if errno == syscall.ENOSYS || errno == syscall.EXDEV {
			t.Errorf("the kind %q is %v, which kernel or mv remember or misread", kind, errno)
		}
	}
	if len(ofKind) != int(archive.KindEnd) {
		t.Errorf("%d entries for %d kinds", len(ofKind), archive.KindEnd)
	}
}

func TestOf(t *testing.T) {
	service := func(kind archive.Kind, cause error) error {
		return &archive.Error{Op: "document/list", Kind: kind, Err: cause}
	}
	tests := []struct {
		name string
		err  error
		want syscall.Errno
	}{
		{"none", nil, 0},
		{"invalid", service(archive.KindInvalid, nil), syscall.EINVAL},
		{"unauthorized", service(archive.KindUnauthorized, nil), syscall.EACCES},
		{"forbidden", service(archive.KindForbidden, nil), syscall.EACCES},
		{"not found", service(archive.KindNotFound, nil), syscall.ENOENT},
		{"conflict", service(archive.KindConflict, nil), syscall.EEXIST},
		{"too large", service(archive.KindTooLarge, nil), syscall.EFBIG},
		{"busy", service(archive.KindBusy, nil), syscall.EAGAIN},
		{"server", service(archive.KindServer, nil), syscall.EIO},
		{"unreachable", service(archive.KindUnreachable, nil), syscall.EIO},
		{"interrupted", service(archive.KindInterrupted, nil), syscall.EIO},
		{"timeout", service(archive.KindTimeout, nil), syscall.ETIMEDOUT},
		{"unsupported", service(archive.KindUnsupported, nil), syscall.ENOTSUP},
		{"protocol", service(archive.KindProtocol, nil), syscall.EIO},
		{"other", service(archive.KindOther, nil), syscall.EIO},
		{"wrapped", fmt.Errorf("archive: %w", fmt.Errorf("send: %w", service(archive.KindTooLarge, nil))), syscall.EFBIG},
		{"joined", errors.Join(errors.New("first"), service(archive.KindForbidden, nil)), syscall.EACCES},
		{"two in a chain: the outer", service(archive.KindConflict, service(archive.KindNotFound, nil)), syscall.EEXIST},

		{"refused connection below a kind", service(archive.KindUnreachable, syscall.ECONNREFUSED), syscall.EIO},
		{"reset connection below a kind", service(archive.KindInterrupted, &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), syscall.EIO},
		{"deadline below a kind", service(archive.KindTimeout, context.DeadlineExceeded), syscall.ETIMEDOUT},
		{"deadline below another kind", service(archive.KindServer, context.DeadlineExceeded), syscall.EIO},
		{"full disk below no kind", service(archive.KindOther, syscall.ENOSPC), syscall.ENOSPC},
		{"cancelled below no kind", service(archive.KindOther, context.Canceled), syscall.EINTR},

		{"errno", syscall.EPERM, syscall.EPERM},
		{"full disk", &os.PathError{Op: "write", Path: "data", Err: syscall.ENOSPC}, syscall.ENOSPC},
		{"full disk, wrapped", fmt.Errorf("write %s: %w", "data", &os.PathError{Op: "write", Path: "data", Err: syscall.ENOSPC}), syscall.ENOSPC},
		{"incomplete file", whole.ErrIncomplete, syscall.EIO},
		{"errno before a cancelled context", fmt.Errorf("%w: %w", syscall.EROFS, context.Canceled), syscall.EROFS},
		{"cancelled", context.Canceled, syscall.EINTR},
		{"cancelled, wrapped", fmt.Errorf("list: %w", context.Canceled), syscall.EINTR},
		{"deadline", context.DeadlineExceeded, syscall.ETIMEDOUT},
		{"deadline, wrapped", fmt.Errorf("list: %w", context.DeadlineExceeded), syscall.ETIMEDOUT},
		{"missing file", fmt.Errorf("cache: %w", iofs.ErrNotExist), syscall.ENOENT},
		{"short read", io.ErrUnexpectedEOF, syscall.EIO},
		{"anything else", errors.New("something"), syscall.EIO},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Of(tt.err); got != tt.want {
				t.Fatalf("%v is %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}
