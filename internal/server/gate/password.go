package gate

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// cost is the parameters of an argon2id hash.
type cost struct {
	memory uint32 // in KiB
	passes uint32
	lanes  uint8
}

// The cost of new hashes, as OWASP recommends: 20 to 50 ms and 19 MiB.
const (
	memory = 19 << 10
	passes = 2
	lanes  = 1

	saltLength = 16
	hashLength = 32
	// maxMemory and maxPasses bound the cost of any stored hash.
	maxMemory = 1 << 20
	maxPasses = 16
)

// HashPassword is the hash of a password, in the PHC string format. It includes the salt and the
// cost, so that later hashes can cost more.
func HashPassword(password string) string {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	return format(salt, cost{memory, passes, lanes}.hash(password, salt, hashLength))
}

func format(salt, hash []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, lanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(hash))
}

// dummyHash is a hash that no password matches. Checking it for an unknown user takes as long as
// refusing a wrong password.
func dummyHash() string {
	random := make([]byte, saltLength+hashLength)
	_, _ = rand.Read(random) // never fails
	return format(random[:saltLength], random[saltLength:])
}

func (c cost) hash(password string, salt []byte, length uint32) []byte {
	return argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.lanes, length)
}

// matches reports whether kept is a hash of the password.
func matches(kept, password string) bool {
	c, salt, want, ok := parseHash(kept)
	if !ok {
		return false
	}
	return subtle.ConstantTimeCompare(want, c.hash(password, salt, uint32(len(want)))) == 1 //nolint:gosec // parseHash bounds it
}

func parseHash(kept string) (c cost, salt, hash []byte, ok bool) {
	parts := strings.Split(kept, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return cost{}, nil, nil, false
	}
	n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes)
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	hash, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	ok = err == nil && err1 == nil && err2 == nil && n == 3 && c.lanes > 0 && c.passes > 0 &&
		c.passes <= maxPasses && c.memory <= maxMemory && len(hash) >= 16 && len(hash) <= 64
	return c, salt, hash, ok
}
