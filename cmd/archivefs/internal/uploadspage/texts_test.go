package uploadspage

import (
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/fs"
)

func TestLanguages(t *testing.T) {
	for accepted, want := range map[string]string{
		"": "en", "de": "de", "de-AT,de;q=0.9,en;q=0.5": "de", "en-US,de;q=0.9": "en", "fr": "en", "fr,de;q=0.5": "de", "*": "en", "de;q=x": "en",
	} {
		b := opened(t, sampleMount(t))
		r, err := b.request(http.MethodGet, b.base+"/", "", "Accept-Language", accepted)
		if err != nil {
			t.Fatal(err)
		}
		_, body := read(t, r)
		wantIn(t, body, `<html lang="`+want+`">`)
		if got := r.Header.Get("Content-Language"); got != want {
			t.Errorf("%q: %s, want %s", accepted, got, want)
		}
		if want == "de" {
			wantIn(t, body, "Noch einmal versuchen", "5 Dateien wurden nicht archiviert", `<span lang="en">not &lt;b&gt;today&lt;/b&gt;</span>`)
		}
	}
}

// Every text exists in both languages, takes the same values, and is shown.
func TestTexts(t *testing.T) {
	var code strings.Builder
	for _, file := range []string{"web/page.html", "view.go", "page.go", "texts.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	shown := strings.ToLower(code.String())
	en, de := reflect.ValueOf(english), reflect.ValueOf(german)
	for i := range en.NumField() {
		name, one, other := en.Type().Field(i).Name, en.Field(i).String(), de.Field(i).String()
		if one == "" || other == "" || strings.Count(one, "%") != strings.Count(other, "%") {
			t.Errorf("%s: %q and %q", name, one, other)
		}
		if !strings.Contains(shown, "t."+strings.ToLower(name)) {
			t.Errorf("%s is shown nowhere", name)
		}
	}
}

// Of an upload of which nothing is left to send, the page says what it waits for.
func TestUploadThatWaitsForTheAnswer(t *testing.T) {
	for sent, want := range map[int64]string{84: english.IsSent, 200: english.IsAllSent} {
		v := view{T: &english}
		if l := v.upload(&fs.UploadInfo{State: "pending", Path: "A/a.pdf", Size: 200, Sent: sent}); l.Why != want {
			t.Errorf("%d bytes of 200 are sent: %q, want %q", sent, l.Why, want)
		}
	}
}
