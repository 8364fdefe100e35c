//go:build linux

package scanner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cloudsoda/go-smb2"
	"github.com/jlaffaye/ftp"

	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// line is a connection of a device to the inbox.
type line interface {
	// make makes a file anew, and further opens it at a place.
	make(name string) (io.WriteCloser, error)
	further(name string, at int64) (io.WriteCloser, error)
	// size is how much of a file is there.
	size(name string) (int64, error)
	rename(from, to string) error
	// cut breaks the connection, with all that goes over it.
	cut()
	close()
}

// wires are the network connections of a line.
type wires struct {
	mu  sync.Mutex
	all []net.Conn // guarded by mu
}

// dial makes a connection, which cut breaks.
func (w *wires) dial(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, conn)
	return conn, nil
}

func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.all {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // close sends RST
		}
		_ = conn.Close() // it may be closed already
	}
}

// smb is a line by SMB.
type smb struct {
	wires
	session *smb2.Session
	share   *smb2.Share
}

// patience is how long a device waits for an answer.
const patience = 30 * time.Second

func dialSMB(ctx context.Context, address string) (line, error) {
	l := &smb{}
	conn, err := l.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if l.session, l.share, err = host.Login(limited, conn, ""); err != nil {
		l.cut()
		return nil, err
	}
	l.share = l.share.WithContext(ctx)
	return l, nil
}

func inInbox(name string) string { return strings.ReplaceAll(host.Inbox, "/", `\`) + `\` + name }

func (l *smb) make(name string) (io.WriteCloser, error) {
	return l.share.OpenFile(inInbox(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (l *smb) further(name string, at int64) (io.WriteCloser, error) {
	f, err := l.share.OpenFile(inInbox(name), os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Seek(at, io.SeekStart)
	return f, err
}

func (l *smb) size(name string) (int64, error) {
	info, err := l.share.Stat(inInbox(name))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (l *smb) rename(from, to string) error { return l.share.Rename(inInbox(from), inInbox(to)) }

func (l *smb) close() {
	_ = l.session.Logoff() // the connection ends in any case
	l.cut()
}

// ftpLine is a line by FTP.
type ftpLine struct {
	wires
	server *ftp.ServerConn
}

func dialFTP(ctx context.Context, address string) (line, error) {
	l := &ftpLine{}
	var err error
	l.server, err = ftp.Dial(address, ftp.DialWithDialFunc(func(_, address string) (net.Conn, error) { return l.dial(ctx, address) }), ftp.DialWithShutTimeout(patience))
	if err != nil {
		l.cut()
		return nil, err
	}
	if err := errors.Join(l.server.Login("anonymous", "scanner@office"), l.server.ChangeDir("/mnt/"+host.Inbox)); err != nil {
		l.cut()
		return nil, err
	}
	return l, nil
}

func (l *ftpLine) make(name string) (io.WriteCloser, error) {
	return l.stream(func(r io.Reader) error { return l.server.Stor(name, r) }), nil
}

func (l *ftpLine) further(name string, at int64) (io.WriteCloser, error) {
	return l.stream(func(r io.Reader) error { return l.server.StorFrom(name, r, uint64(at)) }), nil //nolint:gosec // a size
}

// append is APPE, which only FTP has.
func (l *ftpLine) append(name string) io.WriteCloser {
	return l.stream(func(r io.Reader) error { return l.server.Append(name, r) })
}

func (l *ftpLine) size(name string) (int64, error) { return l.server.FileSize(name) }

func (l *ftpLine) rename(from, to string) error { return l.server.Rename(from, to) }

func (l *ftpLine) close() {
	_ = l.server.Quit() // the connection ends in any case
	l.cut()
}

// upload is a file that goes up.
type upload struct {
	*io.PipeWriter
	done chan error
}

// stream lets a device write to what a command of FTP reads.
func (l *ftpLine) stream(command func(io.Reader) error) *upload {
	r, w := io.Pipe()
	u := &upload{w, make(chan error, 1)}
	go func() {
		err := command(r)
		_ = r.CloseWithError(fmt.Errorf("the upload has ended: %w", errors.Join(err, io.ErrClosedPipe)))
		u.done <- err
	}()
	return u
}

// Close ends the upload and waits for the answer.
func (u *upload) Close() error {
	_ = u.PipeWriter.Close() // it returns nil
	select {
	case err := <-u.done:
		return err
	case <-time.After(patience):
		return errors.New("no answer")
	}
}
