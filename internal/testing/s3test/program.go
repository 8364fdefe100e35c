package s3test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startWithin is how long the service may take to answer.
const startWithin = time.Minute

// watched runs the service until standard input ends, which it does with the process that
// began it, however that ends. Then nothing is left. Not every file system has extended
// attributes, so what describes objects lies beside them.
const watched = `mkdir "$1/objects" "$1/metadata"
"$0" --quiet --keep-alive --port "$1/socket" posix --sidecar "$1/metadata" "$1/objects" & pid=$!
read -r _
kill -KILL "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
rm -rf "$1"`

// program is the service as a process.
type program struct {
	socket string
	alive  io.Closer // the process ends when this is closed, be it by the end of this one
	ended  chan struct{}
	said   strings.Builder // to be read after the end
}

// run starts the installed program and waits until it answers. It is fs.ErrNotExist when there
// is none.
func run() (*program, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(cache, "archivefs", "tools", "versitygw")
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("no S3 service: %w", err)
	}
	dir, err := os.MkdirTemp("", "s3") // a socket's path has to be short
	if err != nil {
		return nil, err
	}
	p := &program{socket: filepath.Join(dir, "socket"), ended: make(chan struct{})}
	command := exec.Command("/bin/sh", "-c", watched, file, dir) //nolint:noctx,gosec // it ends with this process, and is what setup installed
	command.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+AccessKey, "ROOT_SECRET_ACCESS_KEY="+SecretKey)
	command.Stdout, command.Stderr = &p.said, &p.said
	if p.alive, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = command.Wait()
	}()
	return p, p.answers()
}

// answers waits until the service takes connections.
func (p *program) answers() error {
	tick, limit := time.NewTicker(10*time.Millisecond), time.After(startWithin)
	defer tick.Stop()
	for {
		conn, err := net.Dial("unix", p.socket) //nolint:noctx // it does not wait
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.ended:
			return errors.New("the S3 service ended at once: " + p.said.String())
		case <-limit:
			return errors.New("the S3 service does not answer")
		case <-tick.C:
		}
	}
}

// end ends the process.
func (p *program) end() {
	_ = p.alive.Close()
	<-p.ended
}
