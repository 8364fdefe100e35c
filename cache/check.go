package cache

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// check is a checksum by which a file is told from what a crash of the machine may have
// left of it: a letter for its kind, and its value. The empty one fits no file.
//
// What is downloaded has a CRC-32C, which costs a fraction of a cryptographic hash: it is
// no one's attempt to deceive that has to be noticed, but blocks that were never written.
// What was uploaded from here comes with the SHA-256 that its upload has anyway.
type check string

// The kinds of checks, by their first letter.
const (
	checkCRC    = 'c' // CRC-32C, in 8 hexadecimal digits
	checkSHA256 = 's' // SHA-256, in unpadded base64url (RFC 4648, section 5)
)

// newCRC returns a running CRC-32C, for which processors have an instruction.
func newCRC() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// crcOf is the check of the bytes that sum has seen.
func crcOf(sum hash.Hash32) check { return check(fmt.Sprintf("%c%08x", checkCRC, sum.Sum32())) }

// shaOf is the check of a SHA-256.
func shaOf(sum []byte) check {
	return check(string(checkSHA256) + base64.RawURLEncoding.EncodeToString(sum))
}

// valid reports whether c is written as one of the kinds, or empty.
func (c check) valid() bool {
	if c == "" {
		return true
	}
	var sum []byte
	var err error
	switch c[0] {
	case checkCRC:
		sum, err = hex.DecodeString(string(c[1:]))
		return err == nil && len(sum) == crc32.Size
	case checkSHA256:
		sum, err = base64.RawURLEncoding.DecodeString(string(c[1:]))
		return err == nil && len(sum) == sha256.Size
	}
	return false
}

// verify returns errDamaged unless the bytes of r are those of the check.
func (c check) verify(r io.Reader) error {
	var found check
	switch {
	case c == "":
		return errDamaged
	case c[0] == checkCRC:
		sum := newCRC()
		if _, err := io.Copy(sum, r); err != nil {
			return err
		}
		found = crcOf(sum)
	default:
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return err
		}
		found = shaOf(sum.Sum(nil))
	}
	if found != c {
		return errDamaged
	}
	return nil
}
