package hostile_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// A service with the eight operations alone and lazy structures without children,
// whose first folder/create takes effect although its answer is lost. In a test,
// Start takes the place of httptest.
func Example() {
	s := hostile.New(hostile.Config{
		OnlyEight: true,
		Structure: hostile.StructureShape{LazyChildren: hostile.Absent},
	})
	mandator := s.AddMandator("Muster GmbH")
	s.Fault(hostile.Fault{Method: http.MethodPost, Path: "/folder/create", Do: hostile.DropAfter()})
	srv := httptest.NewServer(s)
	defer srv.Close()
	defer s.Close()

	create := func() {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
			srv.URL+hostile.DefaultBasePath+"/folder/create", strings.NewReader("parent-folder-id=1&folder-name=2018"))
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println("no answer")
			return
		}
		fmt.Println(resp.Status)
		_ = resp.Body.Close()
	}
	create()
	create()
	fmt.Println("created:", len(s.Folders(mandator)))
	fmt.Println("violations:", len(s.Violations()))
	// Output:
	// no answer
	// 409 Conflict
	// created: 1
	// violations: 0
}
