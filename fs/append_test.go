package fs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// Appended bytes go to the end of an inbox document, even if its length was only estimated, or has
// changed since it was listed.
func TestAppendToInboxDocument(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg     hostile.Config
		changed string // the service's new content when the file is opened
	}{
		"length listed":              {hostile.Config{List: hostile.ListShape{Sizes: true}}, ""},
		"length estimated":           {hostile.Config{Content: hostile.ContentShape{HeadStatus: 405}}, ""},
		"listed, longer since then":  {hostile.Config{List: hostile.ListShape{Sizes: true}}, strings.Repeat("n", 9000)},
		"listed, shorter since then": {hostile.Config{List: hostile.ListShape{Sizes: true}}, "n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, tt.cfg)
			before := strings.Repeat("o", 5000)
			id := f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte(before)})
			m, _ := f.slow(t)
			path := m.path("inboxes", "Administrator", "a.txt")
			get(os.Stat(path))(t) // the kernel remembers the length
			if tt.changed != "" {
				before = tt.changed
				f.Change(id, func(d *hostile.Document) { d.Content = []byte(before) })
			}
			w := get(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))(t)
			for _, line := range []string{"one\n", "two\n"} {
				get(w.WriteString(line))(t)
			}
			must(t, w.Close())
			want := before + "one\ntwo\n"
			if d, _ := f.Document(id); string(d.Content) != want {
				t.Errorf("the service has %d bytes that end in %q, want %d", len(d.Content), d.Content[max(0, len(d.Content)-10):], len(want))
			}
			wantContent(t, path, want)
		})
	}
}
