package xattr_test

import (
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/xattr"
)

// A name is parsed once; the attribute then says what may be done with it, and checks values.
func ExampleParse() {
	keywords, err := xattr.Parse("user.archive.keywords")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("kept for an inbox document:", keywords.On(xattr.NodeInbox) == xattr.Kept)

	list, err := xattr.ParseKeywords([]byte(`reminder, Mueller\, Erika`))
	fmt.Printf("%q %v\n", list, err)

	_, err = xattr.Parse("security.selinux")
	fmt.Println("supported namespace:", !errors.Is(err, xattr.ErrNamespace))

	// Output:
	// kept for an inbox document: true
	// ["reminder" "Mueller, Erika"] <nil>
	// supported namespace: false
}

// What getfattr -d shows of a document.
func ExampleSubject_Values() {
	doc := archive.Document{ID: 17, Name: "letter.pdf", Pages: 2, Size: archive.SizeUnknown, Keywords: []string{"reminder"}}
	for _, v := range (xattr.Subject{ID: doc.ID, Document: &doc, State: xattr.StateArchived}).Values() {
		fmt.Printf("%s=%q\n", v.Attr.Name(), v.Data)
	}

	// Output:
	// user.archive.id="17"
	// user.archive.name="letter.pdf"
	// user.archive.pages="2"
	// user.archive.state="archived"
	// user.archive.keywords="reminder"
}
