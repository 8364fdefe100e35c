//go:build linux

package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path"
	"strings"
	"time"

	"github.com/cloudsoda/go-smb2"

	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// session is a connection to a share, of one person.
type session struct {
	conn  net.Conn
	share *smb2.Share
}

// patience is how long a client waits for an answer.
const patience = time.Minute

func connect(ctx context.Context, h *host.Host, person string) (*session, error) {
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, "tcp", h.SMB())
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, share, err := host.Login(limited, conn, person)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &session{conn, share.WithContext(ctx)}, nil
}

// close breaks the connection.
func (s *session) close() {
	_ = s.share.Umount() // it ends with the connection at the latest
	_ = s.conn.Close()
}

func windows(path string) string { return strings.ReplaceAll(path, "/", `\`) }

// list returns the names in a folder.
func (s *session) list(folder string) (names map[string]bool, err error) {
	entries, err := s.share.ReadDir(windows(folder))
	names = map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names, err
}

// write makes a file, writes it and closes it. Only the close says that it is archived.
func (s *session) write(at, content string) error {
	f, err := s.share.OpenFile(windows(at), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(content))
	return errors.Join(err, f.Close())
}

// Kind is what a person does.
type Kind string

// The kinds. A small file has four KiB.
const (
	List  Kind = "ls"
	Read  Kind = "read"
	Small Kind = "write, 4 KiB"
	Large Kind = "write, up to 1 MiB"
	Scan  Kind = "scan to the inbox"
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{List, Read, Small, Large, Scan} }

// Written is a file that a person wrote.
type Written struct {
	Path    string
	Content string
	// Told says that the person was told that it is written.
	Told bool
}

// person works at a share.
type person struct {
	n       int
	host    *host.Host
	rnd     *rand.Rand
	session *session // nil when there is none
	log     *diary
	written []*Written
}

// think is how long a person pauses on average.
const think = 3 * time.Second

// live works until ctx ends. What is under way then is done to its end.
func (p *person) live(ctx context.Context) {
	defer func() {
		if p.session != nil {
			p.session.close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(p.rnd.Float64() * 2 * float64(think))):
		}
		kind := p.choose()
		began := time.Now()
		err := p.do(context.WithoutCancel(ctx), kind)
		p.log.note(kind, began, err)
		if err != nil && p.session != nil {
			p.session.close()
			p.session = nil
		}
	}
}

// choose chooses what is done next.
func (p *person) choose() Kind {
	switch n := p.rnd.IntN(100); {
	case n < 45:
		return List
	case n < 75:
		return Read
	case n < 91:
		return Small
	case n < 95:
		return Large
	default:
		return Scan
	}
}

func (p *person) do(ctx context.Context, kind Kind) (err error) {
	if p.session == nil {
		if p.session, err = connect(ctx, p.host, host.Person(p.n)); err != nil {
			p.session = nil
			return err
		}
	}
	switch kind {
	case List:
		return p.list()
	case Read:
		return p.read()
	}
	w := &Written{Path: path.Join(in, host.Person(p.n), fmt.Sprintf("Letter %04d.txt", len(p.written)))}
	size := 4 << 10
	switch kind {
	case Large:
		size = 64<<10 + p.rnd.IntN(960<<10)
	case Scan:
		w.Path, size = fmt.Sprintf("%s/%s %04d.txt", host.Inbox, host.Person(p.n), len(p.written)), 20<<10+p.rnd.IntN(200<<10)
	}
	w.Content = paper(w.Path, size)
	p.written = append(p.written, w)
	err = p.session.write(w.Path, w.Content)
	w.Told = err == nil
	return err
}

// list lists a folder, one time in four the person's own, which shows all that was written there.
func (p *person) list() error {
	if p.rnd.IntN(4) > 0 {
		path, _ := file(p.rnd.IntN(folders), 0)
		names, err := p.session.list(path[:strings.LastIndexByte(path, '/')])
		if err == nil && len(names) != inFolder {
			err = fmt.Errorf("%s shows %d documents, and not %d", path, len(names), inFolder)
		}
		return err
	}
	folder := path.Join(in, host.Person(p.n))
	names, err := p.session.list(folder)
	for _, w := range p.written {
		if err == nil && w.Told && path.Dir(w.Path) == folder && !names[path.Base(w.Path)] {
			err = fmt.Errorf("%s is not shown", w.Path)
		}
	}
	return err
}

func (p *person) read() error {
	path, size := file(p.rnd.IntN(folders), p.rnd.IntN(inFolder))
	got, err := p.session.share.ReadFile(windows(path))
	if err == nil && string(got) != paper(path, size) {
		err = fmt.Errorf("%s reads %d other bytes", path, len(got))
	}
	return err
}
