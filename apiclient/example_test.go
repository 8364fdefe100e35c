package apiclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
)

// A client lists a folder and uploads a document to it.
func Example() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/api/v2/archivestructure" { // asked whether the service is there, before a 404 is believed
			_, _ = io.WriteString(w, `{"folders":[{"id":1,"name":"Office"}]}`)
			return
		}
		fmt.Println(r.Method, r.URL.Path, "with key", r.Header.Get("API-Key"))
		switch r.URL.Path {
		case "/api/v2/document/list":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `[{"id":17,"name":"letter.pdf","num-pages":2}]`)
		case "/api/v2/file-upload":
			_, _ = io.WriteString(w, "18")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer service.Close()

	client, err := apiclient.New(apiclient.Config{
		BaseURL: service.URL, Credentials: apiclient.Credentials{APIKey: "secret"}, Location: time.UTC,
	})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ctx := context.Background()

	documents, err := client.Documents(ctx, 7, archive.ListOptions{})
	for _, doc := range documents {
		fmt.Println(doc.ID, doc.Name, doc.Pages)
	}
	fmt.Println(err)

	id, err := client.Upload(ctx, archive.Upload{Folder: 7, Name: "reply.txt"}, strings.NewReader("Yes"))
	fmt.Println(id, err)

	_, err = client.Data(ctx, 99)
	fmt.Println(archive.KindOf(err))

	// Output:
	// GET /api/v2/document/list with key secret
	// 17 letter.pdf 2
	// <nil>
	// POST /api/v2/file-upload with key secret
	// 18 <nil>
	// GET /api/v2/document/99/data with key secret
	// not found
}
