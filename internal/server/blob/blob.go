// Package blob stores contents by their SHA-256: Files in a directory, Bucket in one with the S3 interface.
//
// A content is added in two steps. Stage takes it into memory, or a larger one into a temporary file, and hashes it, so
// that its digest is known and its bytes can be inspected before it is stored. Publish then makes it durable under its
// digest, alone or with others. Files syncs and renames it, and syncs the directory; Bucket sends it, and S3 compares
// it with its digest. A crash leaves nothing, a temporary file (swept by the next OpenFiles, or by Walk), parts of a
// large object (removed by Walk), or a complete content. Contents never change, so equal ones are stored once and may
// be read without a lock.
//
// If the service of a Bucket does not answer, the error is an archive.Error of KindUnreachable.
package blob

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/pace"
)

// digits is the length of a SHA-256 in hexadecimal.
const digits = 64

// ErrMissing says that there is no content with that digest.
var ErrMissing = errors.New("no such content")

// ErrDamaged says that a content does not have its digest.
var ErrDamaged = errors.New("its bytes do not match its digest")

// Part is the part of a content that will be read: a range of bytes, as in HTTP (RFC 9110, section
// 14.1.2: "bytes=0-99", "bytes=100-", "bytes=-100"), or one of the constants below. Reading other
// parts is possible, but costs more requests.
type Part string

// All of a content, or only its length.
const (
	Whole   Part = ""
	Nothing Part = "nothing"
)

// Staged is a received content. It may be published, even repeatedly, until it is discarded.
type Staged interface {
	// ReaderAt reads the received bytes; it may be used until Discard.
	io.ReaderAt
	// Digest is the SHA-256 of the bytes, 64 lower-case hexadecimal digits.
	Digest() string
	// Size is the number of bytes.
	Size() int64
	// Discard removes the received bytes. A published content stays.
	Discard() error
}

// valid ensures that only a digest becomes part of a path.
func valid(digest string) bool {
	if len(digest) != digits {
		return false
	}
	_, err := hex.DecodeString(digest)
	return err == nil
}

// moving is a connection that fails when it is too slow (see pace.Watch). Reads and writes use up its time,
// and a new request restores it.
type moving struct {
	net.Conn
	watch    pace.Watch
	answered atomic.Bool // a read followed the last write
}

func (m *moving) Read(p []byte) (int, error) {
	m.watch.Begin()
	n, err := m.Conn.Read(p)
	m.watch.End(int64(n), pace.Least)
	if n > 0 {
		m.answered.Store(true)
	}
	return n, err
}

func (m *moving) Write(p []byte) (int, error) {
	if m.answered.Swap(false) {
		m.watch.Renew()
	}
	m.watch.Begin()
	n, err := m.Conn.Write(p)
	m.watch.End(int64(n), pace.Least)
	return n, err
}

// defaultTimeout is how long a request to a store may make too little progress before it is repeated.
const defaultTimeout = 20 * time.Second

// Address is the location of a bucket. It contains no secrets.
type Address struct {
	Bucket string
	// Prefix begins the names of all objects; it is empty or ends with a slash.
	Prefix string
	// Endpoint is the address of the S3 service, with its scheme.
	Endpoint *url.URL
	Region   string
	// PathStyle says whether the bucket is in the path of a request or before the host name; nil:
	// as usual at the endpoint.
	PathStyle *bool
	// Timeout is how long a request may make too little progress.
	Timeout time.Duration
}

// ParseAddress reads s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME&path-style=BOOL&timeout=DURATION]. Without a region
// it takes that of the environment, like other programs for S3.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return Address{}, errors.New("not the address of a bucket; write for example s3://archive?endpoint=https://s3.example.com&region=eu-central-1")
	}
	if u.User != nil {
		return Address{}, errors.New("credentials have no place in the address, where others could read them; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	a := Address{Bucket: u.Host, Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1"), Timeout: defaultTimeout}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		a.Prefix = prefix + "/"
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, fmt.Errorf("after the question mark: %w", err)
	}
	for name, given := range values {
		if err := a.set(name, given[len(given)-1]); err != nil {
			return Address{}, err
		}
	}
	if a.Endpoint == nil {
		a.Endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	}
	return a, nil
}

// set reads the parameters after the question mark.
func (a *Address) set(name, value string) (err error) {
	switch name {
	case "endpoint":
		a.Endpoint, err = endpoint(value)
	case "region":
		if a.Region = value; value == "" {
			return errors.New("region is empty")
		}
	case "path-style":
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("path-style is true or false, not %q", value)
		}
		a.PathStyle = &on
	case "timeout":
		if a.Timeout, err = time.ParseDuration(value); err != nil || a.Timeout <= 0 {
			return fmt.Errorf("timeout is a duration such as 20s, not %q", value)
		}
	default:
		return fmt.Errorf("%q is none of endpoint, region, path-style, timeout", name)
	}
	return err
}

func endpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("endpoint is the address of the S3 service, such as https://s3.example.com, without a path")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// Name is the bucket and its prefix.
func (a Address) Name() string { return "s3://" + strings.TrimSuffix(a.Bucket+"/"+a.Prefix, "/") }

// String is the bucket and its endpoint, for people.
func (a Address) String() string { return fmt.Sprintf("%s at %s", a.Name(), a.Endpoint) }
