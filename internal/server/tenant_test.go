package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Every operation answers 404 for an id of another tenant, or of a mandator that the key is not for; lists
// leave it out. With -v the requests are printed.
func TestOtherTenants(t *testing.T) {
	t.Parallel()
	s := quiet(t)
	mandator, folder, inbox, document, scan := belongings(t, s)
	before := held(t, s)
	strangers := []stranger{ofAnotherTenant(t, s), ofAnotherMandator(t, s)}
	handler, requests := s.Handler(), strange()
	for _, route := range s.routes() {
		if len(requests[route.method+" "+route.path]) == 0 {
			t.Errorf("%s %s is not tried", route.method, route.path)
		}
	}
	send := func(who stranger, method string, r tried) (answer *httptest.ResponseRecorder, want string) {
		ids := strings.NewReplacer("THEIR-MANDATOR", text(mandator), "THEIR-FOLDER", text(folder), "THEIR-INBOX", text(inbox), "THEIR-DOCUMENT", text(document),
			"THEIR-SCAN", text(scan), "THEIR-PAGE", text(document*pagesPerDocument+1), "OWN-MANDATOR", text(who.own), "OWN-INBOX", text(who.tray),
			"OWN-USER", text(archive.ID(who.user)), "OWN-SCAN", text(who.document))
		asked := httptest.NewRequestWithContext(t.Context(), method, base+ids.Replace(r.path), strings.NewReader(ids.Replace(r.body)))
		asked.Header = who.header.Clone()
		asked.Header.Set("Content-Type", r.contentType)
		answer = httptest.NewRecorder()
		handler.ServeHTTP(answer, asked)
		return answer, ids.Replace(r.answer)
	}
	ask := func(who stranger, method string, r tried) string {
		w, want := send(who, method, r)
		body := w.Body.String()
		if want == "" && w.Code != http.StatusNotFound || want != "" && (w.Code != http.StatusOK || !strings.HasPrefix(body, want)) {
			t.Errorf("%s: %s %s: %d %s", who.name, method, r.path, w.Code, body)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%s: %s %s tells of what is another's: %s", who.name, method, r.path, body)
		}
		if want != "" {
			return "200, their own alone"
		}
		return strconv.Itoa(w.Code)
	}
	var table strings.Builder
	for _, pattern := range slices.Sorted(maps.Keys(requests)) {
		method, _, _ := strings.Cut(pattern, " ")
		for _, r := range requests[pattern] {
			_, _ = fmt.Fprintf(&table, "| %s %s | %s |", method, r.path, r.inWords())
			for _, who := range strangers {
				_, _ = fmt.Fprintf(&table, " %s |", ask(who, method, r))
			}
			table.WriteString("\n")
		}
	}
	for _, who := range strangers {
		// The same external id and content in the stranger's own folder make a separate document.
		made, _ := send(who, http.MethodPost, tried{
			path: "/file-upload", contentType: asUpload, body: uploading("target-folder-id", "OWN-MANDATOR", "external-id", "E"),
		})
		if made.Code != http.StatusOK || made.Body.String() == text(document) {
			t.Errorf("%s: the same external id: %d %s", who.name, made.Code, made.Body)
		}
	}
	if after := held(t, s); after != before {
		t.Errorf("what strangers did has changed\n%s to\n%s", before, after)
	}
	if testing.Verbose() {
		fmt.Printf("| Request | Body | %s | %s |\n|---|---|---|---|\n%s", strangers[0].name, strangers[1].name, table.String())
	}
}

// The pages of a search are never those of another tenant's search.
func TestPagesOfASearchAreTheTenantsOwn(t *testing.T) {
	t.Parallel()
	s := quiet(t)
	belongings(t, s)
	other, err := s.db.AddTenant(t.Context(), "other", "")
	if err != nil {
		t.Fatal(err)
	}
	searches := &searchHandlers{dataHandlers: dataHandlers{location: time.UTC}, renderer: s.renderer}
	for _, page := range []string{"0", "1"} {
		for who, want := range map[store.TenantID]string{store.DefaultTenant: `"totalHitDocuments":2`, other: `"totalHitDocuments":0`} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/search?pagination-size=1&pagination-page="+page, nil)
			s.front.problems(func(w *response, r *request) error {
				r.who = identity{tenant: who}
				r.catalog = archiveOf(s.db, r.who)
				return searches.search(w, r)
			}).ServeHTTP(w, r)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
				t.Errorf("page %s of tenant %d: %d %s", page, who, w.Code, w.Body)
			}
		}
	}
}
