package cache_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// The content of an archived document is downloaded once, and read from the disk from then on.
func ExampleContent_Open() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	content, err := cache.OpenContent(cache.Options{Dir: dir + "/content", Limit: 1 << 20})
	if err != nil {
		panic(err)
	}
	defer func() { _ = content.Close() }()

	fetch := func(_ context.Context, want cache.Want) (*archive.Content, error) {
		fmt.Println("download from byte", want.Offset)
		const letter = "Dear Erika"
		return &archive.Content{Body: io.NopCloser(strings.NewReader(letter)), Size: int64(len(letter)), ETag: `"1"`}, nil
	}
	ctx, key := context.Background(), cache.Key{Document: 17, Representation: archive.Original}
	for range 2 {
		reader, err := content.Open(ctx, key, cache.Trust{Print: 7}, fetch)
		if err != nil {
			panic(err)
		}
		bytes := make([]byte, reader.Size())
		if _, err = reader.ReadAt(ctx, bytes, 0); err != nil {
			panic(err)
		}
		fmt.Println(string(bytes), reader.Wait(ctx)) // Wait: the download is complete
		_ = reader.Close()
	}

	// Output:
	// download from byte 0
	// Dear Erika <nil>
	// Dear Erika <nil>
}

// A listing is asked for once, until its time is over or something was changed.
func ExampleListings() {
	now := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	folders := cache.NewListings[archive.ID, []string](100, time.Minute, func() time.Time { return now })
	list := func() {
		got, err := folders.Get(context.Background(), 7, func(context.Context) ([]string, error) {
			fmt.Println("ask the service")
			return []string{"letter.pdf"}, nil
		})
		fmt.Println(got.Value, err)
	}
	list()
	list()
	now = now.Add(2 * time.Minute)
	list()

	// Output:
	// ask the service
	// [letter.pdf] <nil>
	// [letter.pdf] <nil>
	// ask the service
	// [letter.pdf] <nil>
}
