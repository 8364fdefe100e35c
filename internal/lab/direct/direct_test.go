package direct

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
)

// What is added, renamed and removed is found so at a real service.
func TestArchive(t *testing.T) {
	ctx := t.Context()
	service, err := server.Open(ctx, server.Options{Data: t.TempDir(), Credentials: server.Credentials{APIKey: "key"}, Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(service.Handler())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		front.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	mandator, err := service.AddMandator(ctx, "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.AddFolder(ctx, mandator, "Letters"); err != nil {
		t.Fatal(err)
	}
	if _, err := service.AddInbox(ctx, 1, "Administrator"); err != nil {
		t.Fatal(err)
	}
	a := At(strings.TrimPrefix(front.URL, "http://"), "key")
	const letter, scan = "Muster GmbH/Letters/A letter.txt", "inboxes/Administrator/A scan.txt"
	for _, at := range []string{letter, scan} {
		if err := a.Add(ctx, at, []byte("The text of "+at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Rename(ctx, letter, "The letter.txt"); err != nil {
		t.Error(err)
	}
	if got, err := a.ContentAt(ctx, "Muster GmbH/Letters/The letter.txt"); err != nil || string(got) != "The text of "+letter {
		t.Errorf("%q, %v", got, err)
	}
	if err := a.Remove(ctx, scan); err != nil {
		t.Error(err)
	}
	for at, want := range map[string]int{"Muster GmbH/Letters": 1, "inboxes/Administrator": 0} {
		if all, err := a.Documents(ctx, at); err != nil || len(all) != want {
			t.Errorf("%s: %v, %v", at, all, err)
		}
	}
	if _, err := a.ContentAt(ctx, letter); err == nil {
		t.Error("it has the letter under its old name")
	}
	if !a.Has(ctx, "Muster GmbH/Letters") || a.Has(ctx, "Muster GmbH/Offers") {
		t.Error("it has other folders")
	}
	if err := errors.Join(a.Make(ctx, "Muster GmbH/Letters/2026"), a.Add(ctx, "Muster GmbH/Letters/2026/A bill.txt", []byte("A bill"))); err != nil {
		t.Error(err)
	}
	all, err := a.Below(ctx, "Muster GmbH/Letters")
	if err != nil || len(all) != 3 || all[0].Path != "The letter.txt" || !all[1].Folder || all[1].Path != "2026" || all[2].Path != "2026/A bill.txt" {
		t.Fatalf("%v, %v", all, err)
	}
	history, err := a.History(ctx, all[0].ID)
	if want := (Change{Action: "name", Old: "A letter.txt", New: "The letter.txt"}); err != nil || len(history) != 1 || history[0] != want {
		t.Errorf("%v, %v", history, err)
	}
	if !a.Ready(ctx) || At(strings.TrimPrefix(front.URL, "http://"), "another").Ready(ctx) {
		t.Error("it is ready for other keys")
	}
}
