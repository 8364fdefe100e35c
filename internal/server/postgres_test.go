package server

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server/pgtest"
)

// engineEnv names the kind of database that the tests use: SQLite, or postgres.
const engineEnv = "ARCHIVEFS_TEST_DATABASE"

// NewDatabase returns the URL of a new database for a test, empty for a file in the data
// directory.
func NewDatabase(t testing.TB) string {
	if os.Getenv(engineEnv) != "postgres" {
		return ""
	}
	return pgtest.Database(t)
}

// The tests of this package pass with PostgreSQL as they do with SQLite, every one of them.
func TestTheSameOnPostgreSQL(t *testing.T) {
	pgtest.Database(t)                                                                    // or there is none on this machine
	list, err := exec.CommandContext(t.Context(), os.Args[0], "-test.list", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^(Test|Fuzz)\w+$`).FindAllString(string(list), -1)
	// Of which one has PostgreSQL anyway.
	both := []string{t.Name(), "TestUploadsWhileTheDatabaseCrashes"}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(both, name) })
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.timeout", "5m", "-test.skip", "^("+strings.Join(both, "|")+")$")
	cmd.Env = append(os.Environ(), engineEnv+"=postgres")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, failures(string(out)))
	}
	for _, name := range names {
		if !strings.Contains(string(out), "--- PASS: "+name+" (") {
			t.Errorf("%s has not passed", name)
		}
	}
}

// failures is what is told of tests that failed, or the end of it all.
func failures(out string) string {
	at := strings.Index(out, "--- FAIL")
	if at < 0 {
		at = max(0, len(out)-4096)
	}
	return out[at:min(len(out), at+8192)]
}
