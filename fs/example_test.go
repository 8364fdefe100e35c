package fs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// A file system consists of a client of the service and of stores in a state directory. Check
// requests the top of the archive, and Recover loads what an earlier run left; Mount would come
// next. Here the earlier run was killed while a program wrote a file: the incomplete file is kept
// as failed and never archived.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	interrupted(dir)

	archive := hostile.New(hostile.Config{BasePath: "/api/v2"})
	archive.AddMandator("Muster GmbH")
	service := httptest.NewServer(archive)
	defer service.Close()

	filesystem, end, err := open(dir, service.URL)
	if err != nil {
		panic(err)
	}
	fmt.Println("check:", filesystem.Check(context.Background()))
	filesystem.Recover()

	status := filesystem.Status()
	fmt.Println("health:", status.Health) // one upload needs a decision
	for _, upload := range status.Uploads.List {
		fmt.Println(upload.State, upload.Path, upload.Size)
	}
	fmt.Println("end:", filesystem.Close(context.Background()), end())

	// Output:
	// check: <nil>
	// health: failing
	// failed Muster GmbH/letter.txt 7
	// end: <nil> <nil>
}

// interrupted leaves dir like a run that was killed while a program wrote a file.
func interrupted(dir string) {
	queue, err := spool.Open(spool.Options{Dir: filepath.Join(dir, "spool")})
	if err != nil {
		panic(err)
	}
	up, err := queue.Create(spool.Record{Folder: 7, Name: "letter.txt", Path: "Muster GmbH"})
	if err != nil {
		panic(err)
	}
	if _, err = up.WriteAt([]byte("Dear Er"), 0); err != nil {
		panic(err)
	}
	if err = queue.Close(); err != nil {
		panic(err)
	}
}

// open assembles a file system. end closes its parts in reverse order.
func open(dir, baseURL string) (filesystem *fs.FileSystem, end func() error, err error) {
	client, err := apiclient.New(apiclient.Config{BaseURL: baseURL, Credentials: apiclient.Credentials{APIKey: "secret"}})
	if err != nil {
		return nil, nil, err
	}
	content, err := cache.OpenContent(cache.Options{Dir: filepath.Join(dir, "content"), Limit: 1 << 30})
	if err != nil {
		return nil, nil, err
	}
	facts, err := cache.OpenFacts(filepath.Join(dir, "facts.db"))
	if err != nil {
		return nil, nil, err
	}
	store, err := state.Open(filepath.Join(dir, "state.db"))
	if err != nil {
		return nil, nil, err
	}
	queue, err := spool.Open(spool.Options{Dir: filepath.Join(dir, "spool")})
	if err != nil {
		return nil, nil, err
	}
	filesystem = fs.New(fs.Options{
		Archive: client, Content: content, Facts: facts, State: store, Spool: queue, Log: logrus.New(),
		Source: client.BaseURL(), TTL: time.Minute, Umask: 0o077, Now: time.Now,
	})
	return filesystem, func() error {
		defer client.Close()
		return errors.Join(queue.Close(), store.Close(), facts.Close(), content.Close())
	}, nil
}
