package store_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

func TestAccounts(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx, at := t.Context(), time.Unix(1000, 0)
		folder(t, s, store.Folder{Name: "I", Inbox: true, UserID: 7})
		id, err := s.Access.AddAccount(ctx, store.DefaultTenant, "eve", "hash", at)
		if err != nil || id != 8 {
			t.Fatalf("%d, %v: a new user has the inbox of somebody", id, err)
		}
		if _, err := s.Access.AddAccount(ctx, store.DefaultTenant, "eve", "hash", at); archive.KindOf(err) != archive.KindConflict {
			t.Errorf("the same name again: %v", err)
		}
		other, err := s.AddTenant(ctx, "other", "Other GmbH")
		if err != nil {
			t.Fatal(err)
		}
		if id, err := s.Access.AddAccount(ctx, other, "eve", "another", at); err != nil || id != 9 {
			t.Errorf("the same name of another tenant: %d, %v", id, err)
		}
		if err := s.Access.SetPassword(ctx, store.DefaultTenant, "eve", "new"); err != nil {
			t.Error(err)
		}
		if got, err := s.Access.FindAccount(ctx, store.DefaultTenant, "eve"); err != nil || got != (store.Account{ID: 8, Name: "eve", Password: "new", Created: at}) {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := s.Access.FindAccount(ctx, other, "eve"); err != nil || got.Password != "another" {
			t.Errorf("%+v, %v", got, err)
		}
		if err := s.Access.RemoveAccount(ctx, store.DefaultTenant, "eve"); err != nil {
			t.Error(err)
		}
		_, gone := s.Access.FindAccount(ctx, store.DefaultTenant, "eve")
		for what, err := range map[string]error{
			"a user that is gone": gone, "its password": s.Access.SetPassword(ctx, store.DefaultTenant, "eve", "x"), "its removal": s.Access.RemoveAccount(ctx, store.DefaultTenant, "eve"),
		} {
			if archive.KindOf(err) != archive.KindNotFound {
				t.Errorf("%s: %v", what, err)
			}
		}
		if all, err := s.Access.Accounts(ctx, store.DefaultTenant); err != nil || len(all) != 0 {
			t.Errorf("left are %v, %v", all, err)
		}
		if all, err := s.Access.Accounts(ctx, other); err != nil || len(all) != 1 {
			t.Errorf("the other tenant has %v, %v", all, err)
		}
	})
}

func TestKeys(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx, at := t.Context(), time.Unix(1000, 0)
		mandator := folder(t, s, store.Folder{Name: "M"})
		below := folder(t, s, store.Folder{Parent: mandator, Name: "below"})
		inbox := folder(t, s, store.Folder{Name: "I", Inbox: true})
		tenant, err := s.AddTenant(ctx, "other", "Other GmbH")
		if err != nil {
			t.Fatal(err)
		}
		if some, err := s.Access.HasKeys(ctx); err != nil || some {
			t.Errorf("keys of a new database: %v, %v", some, err)
		}
		whole := store.Key{Name: "whole", Scopes: []string{"read", "write"}, Created: at}
		if whole.ID, err = s.Access.AddKey(ctx, tenant, whole, "h1"); err != nil {
			t.Fatal(err)
		}
		whole.Tenant = store.Tenant{ID: tenant, CloudID: "other", Name: "Other GmbH"}
		part := store.Key{Name: "part", Scopes: []string{}, Mandators: []archive.ID{mandator}, Created: at, Expires: at.Add(time.Hour)}
		if part.ID, err = s.Access.AddKey(ctx, store.DefaultTenant, part, "h2"); err != nil {
			t.Fatal(err)
		}
		part.Tenant.ID = store.DefaultTenant
		for _, bad := range []archive.ID{below, inbox, 99} {
			if _, err := s.Access.AddKey(ctx, store.DefaultTenant, store.Key{Mandators: []archive.ID{bad}, Created: at}, fmt.Sprint("h", bad)); archive.KindOf(err) != archive.KindNotFound {
				t.Errorf("a key for folder %d: %v", bad, err)
			}
		}
		if _, err := s.Access.AddKey(ctx, tenant, store.Key{Mandators: []archive.ID{mandator}, Created: at}, "h3"); archive.KindOf(err) != archive.KindNotFound {
			t.Errorf("a key for another tenant's mandator: %v", err)
		}
		for hash, want := range map[string]store.Key{"h1": whole, "h2": part} {
			if got, err := s.Access.FindKey(ctx, hash); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("found %+v, %v; want %+v", got, err, want)
			}
		}
		if _, err := s.Access.FindKey(ctx, "h3"); archive.KindOf(err) != archive.KindNotFound {
			t.Errorf("an unknown key: %v", err)
		}
		if all, err := s.Access.Keys(ctx, store.DefaultTenant); err != nil || !reflect.DeepEqual(all, []store.Key{part}) {
			t.Errorf("keys %+v, %v", all, err)
		}

		use := func(at time.Time) time.Time {
			t.Helper()
			if err := s.Access.UseKey(ctx, part.ID, at, at.Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			k, err := s.Access.FindKey(ctx, "h2")
			if err != nil {
				t.Fatal(err)
			}
			return k.Used
		}
		if a, b, c := use(at), use(at.Add(30*time.Second)), use(at.Add(61*time.Second)); !a.Equal(at) || !b.Equal(at) || !c.Equal(at.Add(61*time.Second)) {
			t.Errorf("used %v, %v, %v", a, b, c)
		}
		if err := s.Access.RevokeKeys(ctx, tenant, []int64{part.ID}, at); archive.KindOf(err) != archive.KindNotFound {
			t.Errorf("another tenant revokes it: %v", err)
		}
		for _, later := range []time.Duration{0, time.Hour} { // the first time counts
			if err := s.Access.RevokeKeys(ctx, store.DefaultTenant, []int64{part.ID}, at.Add(later)); err != nil {
				t.Error(err)
			}
		}
		k, err := s.Access.FindKey(ctx, "h2")
		if err != nil || !k.Revoked.Equal(at) || k.Valid(at) {
			t.Errorf("revoked: %+v, %v", k, err)
		}
		if some, err := s.Access.HasKeys(ctx); err != nil || !some {
			t.Errorf("keys: %v, %v", some, err)
		}
	})
}

func TestAKeyIsValidUntilItExpires(t *testing.T) {
	at := time.Unix(1000, 0)
	for now, want := range map[time.Time]bool{at.Add(-1): true, at: false, at.Add(1): false} {
		if k := (store.Key{Expires: at}); k.Valid(now) != want {
			t.Errorf("at %v: %v", now, !want)
		}
	}
}

func TestASearchCanBeConfined(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		var folders []archive.ID
		for _, name := range []string{"A", "B", "C"} {
			top := folder(t, s, store.Folder{Name: name})
			folders = append(folders, top, folder(t, s, store.Folder{Parent: top, Name: "below"}))
			fill(t, s, 1, folders[len(folders)-1])
		}
		for want, roots := range map[string][]archive.ID{"[]": {}, "[1]": {folders[0]}, "[3 1]": {folders[0], folders[4]}, "[2]": {folders[3]}} {
			ids, err := s.Search(t.Context(), store.Search{Confined: true, Roots: roots})
			if got := fmt.Sprint(ids); err != nil || got != want {
				t.Errorf("%v finds %s, %v; want %s", roots, got, err, want)
			}
		}
	})
}

func TestADatabaseBesideAService(t *testing.T) {
	file := filepath.Join(t.TempDir(), "archive.db")
	first := open(t, file)
	beside, err := store.OpenBeside(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = beside.Close() }()
	archive := first.Tenant(store.DefaultTenant)
	before := archive.Version(t.Context())
	if before == 0 || archive.Version(t.Context()) != before {
		t.Errorf("version %d changes by itself", before)
	}
	if _, err := beside.Access.AddKey(t.Context(), store.DefaultTenant, store.Key{Created: time.Now()}, "h"); err != nil {
		t.Error(err)
	}
	if _, err := first.Access.FindKey(t.Context(), "h"); err != nil {
		t.Errorf("what was added beside: %v", err)
	}
	added := archive.Version(t.Context())
	folder(t, archive, store.Folder{Name: "M"})
	if last := archive.Version(t.Context()); added == before || last == added {
		t.Errorf("versions %d, %d after a change beside, %d after one here", before, added, last)
	}
	older := filepath.Join(t.TempDir(), "older.db")
	if s, err := store.OpenBeside(t.Context(), older); err == nil || !strings.Contains(err.Error(), "older schema version") {
		t.Errorf("an older database: %v, %v", s, err)
	}
}

func TestListAutoExport(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		fill(t, s, 5, folder(t, s, store.Folder{Name: "M"}))
		for _, id := range []archive.ID{4, 2} {
			if err := s.Alter(t.Context(), id, store.SetAutoExport(true)); err != nil {
				t.Fatal(err)
			}
		}
		var got []archive.ID
		if err := s.ListAutoExport(t.Context(), func(d store.Listed) error { got = append(got, d.ID); return nil }); err != nil || fmt.Sprint(got) != "[2 4]" {
			t.Errorf("%v, %v", got, err)
		}
	})
}
