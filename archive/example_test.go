package archive_test

import (
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// A caller decides by the Kind of an error, however often it was wrapped.
func Example() {
	err := error(&archive.Error{Op: "send the file", Kind: archive.KindInterrupted, Err: errors.New("connection reset")})
	err = fmt.Errorf("Letters/letter.pdf: %w", err)

	fmt.Println("kind:", archive.KindOf(err))
	fmt.Println("may have arrived:", archive.Doubtful(err))

	// Output:
	// kind: connection lost
	// may have arrived: true
}

// Names come from strangers: none moves the cursor or forges a line where it is printed.
func ExamplePrintable() {
	fmt.Println(archive.Printable("invoice\x1b[2J\n\u202efdp.exe"))

	// Output:
	// invoice\x1b[2J\n\u202efdp.exe
}
