package cache

import (
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/retry"
)

// OpenContent opens the cache in o.Dir with the contents that an earlier process left there.
// Other files are removed, and contents beyond the limit are evicted, but not those that are kept.
func OpenContent(o Options) (*Content, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		o.Log = silent
	}
	if o.Sleep == nil {
		o.Sleep = retry.Sleep
	}
	closing, stop := context.WithCancel(context.Background())
	c := &Content{
		dir: o.Dir, limit: o.Limit, local: o.Local, log: o.Log, now: o.Now,
		pause: o.Sleep, write: (*os.File).WriteAt, free: func() (int64, error) { return diskFree(o.Dir) },
		closing: closing, stop: stop,
		versions: make(map[Key]*version), recent: list.New(), downloads: make(map[Key]*download),
	}
	c.Kept = &Keeping{c: c, wanted: make(map[Key]bool)}
	found, err := c.scan()
	if err != nil {
		stop()
		return nil, fmt.Errorf("open content cache: %w", err)
	}
	slices.SortFunc(found, func(a, b *version) int { return a.touched.Compare(b.touched) })
	c.mu.Lock()
	defer c.unlock()
	for _, v := range found {
		if c.keptLocally(v) {
			c.trash.paths = append(c.trash.paths, c.path(v))
			continue
		}
		c.restoreLocked(v)
	}
	c.evictLocked(excessLocked(c))
	return c, nil
}

// scan makes the cache's directory and returns the versions in its sub-directories.
func (c *Content) scan() ([]*version, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(c.dir, 0o700); err != nil { //nolint:gosec // a directory needs its x bits
		return nil, err
	}
	shards, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	var found []*version
	for _, shard := range shards {
		if !shard.IsDir() {
			continue
		}
		dir := filepath.Join(c.dir, shard.Name())
		if err := durable.Sweep(dir); err != nil {
			return nil, err
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if v := c.inspect(dir, f); v != nil {
				found = append(found, v)
			}
		}
	}
	return found, nil
}

// createTemp creates a temporary file in the sub-directory of key, which it makes when missing.
func (c *Content) createTemp(key Key) (*os.File, error) {
	dir := filepath.Join(c.dir, key.shard())
	f, err := durable.CreateTemp(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return durable.CreateTemp(dir)
}

// inspect returns the version in the file e of dir. A file with a wrong name, place or size is removed.
func (c *Content) inspect(dir string, e os.DirEntry) *version {
	path := filepath.Join(dir, e.Name())
	name, err := parseFileName(e.Name())
	if err == nil && name.path(c.dir) == path {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.Size() == name.size {
			v := c.completeVersion(name)
			v.touched, v.counted, v.unchecked = info.ModTime(), name.size, checkable(name.size)
			return v
		}
	}
	c.log.WithField("path", path).Warn("removing a broken file from the content cache")
	if err := os.Remove(path); err != nil {
		c.log.WithError(err).Warn("cannot remove a file of the content cache")
	}
	return nil
}

// restoreLocked indexes v as the most recent one. A crash while a version is replaced can leave
// two versions of a key: the newer one stays.
// +checklocks:c.mu
func (c *Content) restoreLocked(v *version) {
	if other := c.versions[v.key]; other != nil && other.fetched.After(v.fetched) {
		c.trash.paths = append(c.trash.paths, c.path(v))
		return
	}
	c.used += v.counted
	if v.keep = v.kept; v.keep {
		c.Kept.bytes += v.counted
	}
	c.indexLocked(v)
}

// nameVersion begins every file name; a change of the format changes it.
const nameVersion = "v4"

// maxETag is the longest ETag, in bytes, that fits into a file name (255 bytes, with the
// other fields at their longest). A longer one is not kept.
const maxETag = 90

var errName = errors.New("not the name of a cached content")

// fileName describes a cached file in its name, so that one rename publishes bytes and description together:
//
//	v4.ID.REPRESENTATION.SIZE.FETCHED.STATE.CHECK.TAG.ETAG
//
// FETCHED is when the request was sent, in nanoseconds since 1970; STATE is the fingerprint of an
// archived document, in hexadecimal, 0 for any other, and ends in "-kept" if the content is kept; CHECK is a check, empty for a
// large file (maxCheck); TAG makes the name unique, so that no other file ever has it; ETAG is
// in unpadded base64url (RFC 4648, section 5).
type fileName struct {
	key     Key
	size    int64
	fetched time.Time
	print   archive.Fingerprint
	kept    bool
	check   check
	etag    string
	tag     string
}

func newTag() string { return rand.Text()[:8] }

func (n fileName) String() string {
	etag := n.etag
	if len(etag) > maxETag {
		etag = ""
	}
	return strings.Join([]string{
		nameVersion,
		strconv.FormatInt(int64(n.key.Document), 10),
		n.key.Representation.String(),
		strconv.FormatInt(n.size, 10),
		strconv.FormatInt(n.fetched.UnixNano(), 10),
		n.state(),
		string(n.check),
		n.tag,
		base64.RawURLEncoding.EncodeToString([]byte(etag)),
	}, ".")
}

const keptSuffix = "-kept"

func (n fileName) state() string {
	text := strconv.FormatUint(uint64(n.print), 16)
	if n.kept {
		text += keptSuffix
	}
	return text
}

// parseFileName decodes the result of String; for any other text the error is errName.
func parseFileName(s string) (fileName, error) {
	f := strings.Split(s, ".")
	if len(f) != 9 || f[0] != nameVersion {
		return fileName{}, errName
	}
	id, idErr := strconv.ParseInt(f[1], 10, 64)
	rep, repErr := parseRepresentation(f[2])
	size, sizeErr := strconv.ParseInt(f[3], 10, 64)
	fetched, fetchedErr := strconv.ParseInt(f[4], 10, 64)
	state, kept := strings.CutSuffix(f[5], keptSuffix)
	print, printErr := strconv.ParseUint(state, 16, 64)
	etag, etagErr := base64.RawURLEncoding.DecodeString(f[8])
	if err := errors.Join(idErr, repErr, sizeErr, fetchedErr, printErr, etagErr); err != nil {
		return fileName{}, errName
	}
	n := fileName{
		key:     Key{Document: archive.ID(id), Representation: rep},
		size:    size,
		fetched: time.Unix(0, fetched),
		print:   archive.Fingerprint(print),
		kept:    kept,
		check:   check(f[6]),
		etag:    string(etag),
		tag:     f[7],
	}
	if n.size < 0 || !n.check.valid() || n.String() != s {
		return fileName{}, errName
	}
	return n, nil
}

func parseRepresentation(s string) (archive.Representation, error) {
	for _, r := range []archive.Representation{archive.Original, archive.PDF, archive.Data, archive.Text, archive.Preview, archive.Annotated} {
		if r.String() == s {
			return r, nil
		}
	}
	return 0, errName
}

// shard returns the name of the sub-directory for the files of key.
func (k Key) shard() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d.%d", k.Document, k.Representation))
	return hex.EncodeToString(sum[:1])
}

func (n *fileName) path(dir string) string {
	return filepath.Join(dir, n.key.shard(), n.String())
}

// check is a checksum that shows whether a crash of the machine damaged a file: a letter for its
// kind, and its value. An empty check fits no file.
//
// A downloaded file has a CRC-32C: it is cheap, and need not resist an attacker, but only show
// blocks that were never written. An uploaded file has the SHA-256 of its upload.
type check string

// The kinds of checks, by their first letter.
const (
	checkCRC    = 'c' // CRC-32C, in 8 hexadecimal digits
	checkSHA256 = 's' // SHA-256, in unpadded base64url (RFC 4648, section 5)
)

// castagnoli is the table of CRC-32C, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newCRC() hash.Hash32 { return crc32.New(castagnoli) }

// crcOf is the check of the bytes that were written to sum.
func crcOf(sum hash.Hash32) check { return check(fmt.Sprintf("%c%08x", checkCRC, sum.Sum32())) }

func shaOf(sum []byte) check {
	return check(string(checkSHA256) + base64.RawURLEncoding.EncodeToString(sum))
}

// valid reports whether c is empty, or well-formed.
func (c check) valid() bool {
	if c == "" {
		return true
	}
	switch text := string(c[1:]); c[0] {
	case checkCRC:
		sum, err := hex.DecodeString(text)
		return err == nil && len(sum) == crc32.Size
	case checkSHA256:
		sum, err := base64.RawURLEncoding.DecodeString(text)
		return err == nil && len(sum) == sha256.Size
	}
	return false
}

// verify returns errDamaged unless the check is that of the bytes of r.
func (c check) verify(r io.Reader) error {
	if c == "" {
		return errDamaged
	}
	crc, sha := newCRC(), sha256.New()
	sum := hash.Hash(crc)
	if c[0] == checkSHA256 {
		sum = sha
	}
	if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	if c != crcOf(crc) && c != shaOf(sha.Sum(nil)) {
		return errDamaged
	}
	return nil
}
