//go:build linux

// Package windows is a client of SMB that sends what Windows and macOS send: with their access masks,
// and in their order. Libraries for programs hide both, and streams. The protocol itself is
// client.py's, with python3-impacket.
package windows

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

//go:embed client.py
var script string

// Access masks, as [MS-SMB2] 2.2.13.1.1 has them.
const (
	Read       = 0x120089 // FILE_GENERIC_READ
	Write      = 0x120116 // FILE_GENERIC_WRITE
	Delete     = 0x010000
	Attributes = 0x000080
	Security   = 0x020000
	Rename     = 0x110080 // DELETE, SYNCHRONIZE and FILE_READ_ATTRIBUTES: as Windows opens to rename or to delete
)

// What other clients may do meanwhile.
const (
	Exclusive = 0
	ShareRead = 1
	ShareAll  = 7
)

// Dispositions.
const (
	OpenOnly    = 1
	Create      = 2
	OpenIf      = 3
	Overwrite   = 4
	OverwriteIf = 5
)

// Options: of a file, of a directory, and of either.
const (
	File      = 0x40
	Directory = 0x01
	Either    = 0
)

// StatusError is a status of [MS-ERREF], as STATUS_ACCESS_DENIED.
type StatusError string

func (e StatusError) Error() string { return string(e) }

// Client is a connection to a share. It does one thing at a time.
type Client struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu  sync.Mutex
	out *bufio.Reader // guarded by mu
}

// Connect connects to a share as a person, or as a guest if the name is empty. The client ends with ctx,
// or with Close.
func Connect(ctx context.Context, address, share, person, password string) (*Client, error) {
	c := &Client{cmd: exec.CommandContext(ctx, "/usr/bin/python3", "-c", script)} //nolint:gosec // the script of this package; the Python of Debian has the packages of Debian
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := c.do("connect", map[string]any{"address": address, "share": share, "person": person, "password": password}, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close ends the connection, without closing what is open.
func (c *Client) Close() error {
	err := c.in.Close()
	_ = c.cmd.Wait() // that it was killed says nothing
	return err
}

// do has the client do something.
func (c *Client) do(op string, args map[string]any, result any) error {
	order, err := json.Marshal(map[string]any{"op": op, "args": args})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.in.Write(append(order, '\n')); err != nil {
		return fmt.Errorf("the client of SMB: %w", err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the client of SMB: %w", err)
	}
	var answer struct {
		Result json.RawMessage
		Error  string
	}
	switch err := json.Unmarshal(line, &answer); {
	case err != nil:
		return err
	case answer.Error != "":
		return StatusError(answer.Error)
	case result != nil:
		return json.Unmarshal(answer.Result, result)
	}
	return nil
}

// Tree connects to the share anew, as Windows does when the server has closed it.
func (c *Client) Tree() error { return c.do("tree", map[string]any{}, nil) }

// List returns the names in a directory, with the sizes of the files.
func (c *Client) List(path string) (sizes map[string]int64, err error) {
	err = c.do("list", map[string]any{"path": backslashes(path)}, &sizes)
	return sizes, err
}

func backslashes(path string) string { return strings.ReplaceAll(path, "/", `\`) }
