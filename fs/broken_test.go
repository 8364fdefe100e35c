package fs_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// brokenFirst adds three letters to a folder, the first of which has lost its original.
func (f *foreign) brokenFirst(folder int64, status int) {
	for i, name := range []string{"eins", "zwei", "drei"} {
		d := hostile.Document{Name: name, Content: []byte(name), PDF: []byte(onePDF), ContentType: "text/plain", Pages: 1}
		if i == 0 {
			d.OriginalStatus = status
		}
		f.AddDocument(folder, d)
	}
}

// One broken document, even the first that is checked, does not decide the representation of all
// others.
func TestTheFirstDocumentIsBroken(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 410, 500} {
		for _, how := range []string{"listed", "opened at once"} {
			t.Run(strconv.Itoa(status)+" "+how, func(t *testing.T) {
				f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
				f.brokenFirst(f.bills, status)
				m := f.mount(t, nil)
				bills := m.path("Muster GmbH", "Rechnungen")
				if how == "listed" {
					wantNames(t, bills, "drei.txt", "eins.txt", "zwei.txt")
				} else {
					_, _ = os.ReadFile(filepath.Join(bills, "eins.txt"))
				}
				for range 2 {
					wantContent(t, filepath.Join(bills, "zwei.txt"), "zwei")
					wantContent(t, filepath.Join(bills, "drei.txt"), "drei")
				}
				if got, err := os.ReadFile(filepath.Join(bills, "eins.txt")); err == nil {
					t.Errorf("what is broken reads as %q", got)
				}
			})
		}
	}
}

// If it is alone in its folder, it counts until another folder proves otherwise.
func TestABrokenDocumentAloneInItsFolder(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "eins", Content: []byte("eins"), PDF: []byte(onePDF), OriginalStatus: 404})
	f.AddDocument(f.letters, hostile.Document{Name: "zwei.txt", Content: []byte("zwei"), PDF: []byte(onePDF)})
	m := f.mount(t, nil)
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "eins.pdf"), onePDF)
	wantContent(t, m.path("Muster GmbH", "Briefe", "zwei.txt"), "zwei")
	m.remount()
	wantContent(t, m.path("Muster GmbH", "Briefe", "zwei.txt"), "zwei")
}

// A service without contents is asked about two documents, only once.
func TestMissingRepresentationsAreCheckedOnce(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct{ head, get, data int }{
		404: {4, 4, 2}, // two documents, two representations each; both documents exist
		405: {2, 2, 0}, // 405 concerns the route, not the document
		501: {2, 2, 0},
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			f := newForeign(t, hostile.Config{OnlyEight: true, WithoutStatus: status})
			for _, folder := range []int64{f.bills, f.letters} {
				for range 10 {
					f.AddDocument(folder, hostile.Document{Name: "Brief", Content: []byte("x"), Pages: 1})
				}
			}
			m := f.mount(t, nil)
			for _, folder := range []string{"Rechnungen", "Briefe"} {
				if got := names(t, m.path("Muster GmbH", folder)); len(got) != 10 || filepath.Ext(got[0]) != ".json" {
					t.Errorf("listed are %q", got)
				}
			}
			head, get, data := f.Count("HEAD", ""), f.Count("GET", "/document/{id}/pdf"), f.Count("GET", "/document/{id}/data")
			if head != want.head || get != want.get || data != want.data {
				t.Errorf("%d HEAD, %d GET, %d for data; want %+v", head, get, data, want)
			}
		})
	}
}
