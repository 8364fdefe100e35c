package server

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// engineEnv names the kind of database that the tests use: SQLite, or postgres.
const engineEnv = "ARCHIVEFS_TEST_DATABASE"

// NewBlobs returns the address of a new bucket for a test with a database that is not in the data
// directory, empty for files there.
func NewBlobs(t testing.TB) string {
	if os.Getenv(engineEnv) != "postgres" {
		return ""
	}
	return s3test.Bucket(t)
}

// NewDatabase returns the URL of a new database for a test, empty for a file in the data
// directory.
func NewDatabase(t testing.TB) string {
	if os.Getenv(engineEnv) != "postgres" {
		return ""
	}
	return migrated(t)
}

// migrated makes a migrated database, because a migration takes longer than most tests.
var migrated = pgtest.Copier(func(ctx context.Context, url string) error {
	db, err := store.OpenPostgres(ctx, url)
	if err != nil {
		return err
	}
	return db.Close()
})

// All tests of this package pass with PostgreSQL and S3 as they do with SQLite and files.
func TestTheSameOnPostgreSQL(t *testing.T) {
	t.Parallel()
	pgtest.Database(t) // skips without PostgreSQL
	s3test.Bucket(t)
	list, err := exec.CommandContext(t.Context(), os.Args[0], "-test.list", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^(Test|Fuzz)\w+$`).FindAllString(string(list), -1)
	// Of which these have PostgreSQL anyway, and the last ones a disk that forgets.
	both := []string{
		t.Name(), "TestUploadsWhileTheDatabaseCrashes", "TestServersOfOneArchive", "TestContentsOfAnotherArchiveAreRefused", "TestSweeper",
		"TestANewArchiveSurvivesACrashOfTheMachine", "TestAContentSurvivesInADirectoryThatAnotherMade", "TestAnImportSurvivesACrashOfTheMachine",
		"TestAnErasureSurvivesACrashOfTheMachine",
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(both, name) })
	limit := time.Hour
	if ends, ok := t.Deadline(); ok {
		limit = time.Until(ends)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.parallel", "4", "-test.timeout", limit.String(), "-test.skip", "^("+strings.Join(both, "|")+")$")
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

// failures is the output of failed tests, or else the end of the output.
func failures(out string) string {
	at := strings.Index(out, "--- FAIL")
	if at < 0 {
		at = max(0, len(out)-4096)
	}
	return out[at:min(len(out), at+8192)]
}
