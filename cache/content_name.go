package cache

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// nameVersion begins every file name; a change of the format changes it.
const nameVersion = "v3"

// maxETag is the longest ETag, in bytes, that fits into a file name (255 bytes, with the
// other fields at their longest). A longer one is not kept.
const maxETag = 90

// errName says that a file name is none that this cache gives.
var errName = errors.New("not the name of a cached content")

// fileName is what the name of a cached file says about it, so that one rename publishes
// bytes and description together:
//
//	v3.ID.REPRESENTATION.SIZE.FETCHED.STATE.CHECK.TAG.ETAG
//
// FETCHED is when the service was asked, in nanoseconds since 1970; STATE is "final" for a
// content that could not change any more then, else "draft"; CHECK is as in check, empty for
// a file that nobody checks (checkable); ETAG is in unpadded base64url (RFC 4648, section 5).
// TAG makes the name unique: a name is never used for a second file.
type fileName struct {
	key     Key
	size    int64
	fetched time.Time
	final   bool
	check   check
	etag    string
	tag     string
}

// newTag returns a fresh tag.
func newTag() string { return rand.Text()[:8] }

// String encodes the name.
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
		stateOf(n.final),
		string(n.check),
		n.tag,
		base64.RawURLEncoding.EncodeToString([]byte(etag)),
	}, ".")
}

func stateOf(final bool) string {
	if final {
		return "final"
	}
	return "draft"
}

// parseFileName decodes what String has encoded; anything else is errName.
func parseFileName(s string) (fileName, error) {
	f := strings.Split(s, ".")
	if len(f) != 9 || f[0] != nameVersion {
		return fileName{}, errName
	}
	id, idErr := strconv.ParseInt(f[1], 10, 64)
	rep, repErr := parseRepresentation(f[2])
	size, sizeErr := strconv.ParseInt(f[3], 10, 64)
	fetched, fetchedErr := strconv.ParseInt(f[4], 10, 64)
	etag, etagErr := base64.RawURLEncoding.DecodeString(f[8])
	if err := errors.Join(idErr, repErr, sizeErr, fetchedErr, etagErr); err != nil {
		return fileName{}, errName
	}
	n := fileName{
		key:     Key{Document: archive.ID(id), Representation: rep},
		size:    size,
		fetched: time.Unix(0, fetched),
		final:   f[5] == stateOf(true),
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
	for _, r := range []archive.Representation{archive.Original, archive.PDF, archive.Data, archive.Text, archive.Preview} {
		if r.String() == s {
			return r, nil
		}
	}
	return 0, errName
}

// shard returns the one of the 256 sub-directories that the files of key lie in.
func (k Key) shard() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d.%d", k.Document, k.Representation))
	return hex.EncodeToString(sum[:1])
}

// path returns where the file of that name lies below dir.
func (n *fileName) path(dir string) string {
	return filepath.Join(dir, n.key.shard(), n.String())
}
