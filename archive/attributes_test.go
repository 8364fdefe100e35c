package archive

import (
	"reflect"
	"slices"
	"testing"
)

// fullAttributes has something in every attribute.
func fullAttributes() Attributes {
	return Attributes{
		Keywords: []string{"a"}, Types: []string{"t"}, Metadata: []KeyValue{{Key: "k", Value: "v"}}, ExternalID: "e",
		EmailImportOrder: EmailOnly, ForceNew: FlagFalse,
	}
}

// An attribute that All lacks would be lost on its way.
func TestAllAttributes(t *testing.T) {
	full := fullAttributes()
	all := full.All()
	at := map[uintptr]bool{}
	for _, a := range all {
		if !a.IsSet() {
			t.Errorf("%s is not set, so it is not tested, or of a type that Texts lacks", a.Name)
		}
		at[reflect.ValueOf(a.Value).Pointer()] = true
	}
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		if !at[v.Field(i).Addr().Pointer()] {
			t.Errorf("All lacks %s", v.Type().Field(i).Name)
		}
	}
	var none Attributes
	none.Inherit(full)
	if !reflect.DeepEqual(none, full) {
		t.Errorf("inherited %+v of %+v", none, full)
	}
	for i, a := range none.All() { // each makes a difference
		one := full.CloneAttributes()
		at := reflect.ValueOf(one.All()[i].Value).Elem()
		at.SetZero()
		if one.EqualAttributes(&full) || one.All()[i].IsSet() {
			t.Errorf("%s does not count", a.Name)
		}
	}
	if want := []string{"a", "t", "e", "k", "v", "EMAIL_ONLY", "false"}; !slices.Equal(full.AttributeTexts(), want) {
		t.Errorf("texts %q", full.AttributeTexts())
	}
}

func TestAttributesClone(t *testing.T) {
	full := fullAttributes()
	c := full.CloneAttributes()
	if !c.EqualAttributes(&full) || !reflect.DeepEqual(c, full) {
		t.Fatalf("%+v is a clone of %+v", c, full)
	}
	c.Keywords[0], c.Types[0], c.Metadata[0].Key = "x", "x", "x"
	if !reflect.DeepEqual(full, fullAttributes()) || c.EqualAttributes(&full) {
		t.Fatal("a clone shares with its origin")
	}
}

func TestAttributesInherit(t *testing.T) {
	own := Attributes{Keywords: []string{"own"}, Metadata: []KeyValue{{Key: "k", Value: "own"}}, ForceNew: FlagTrue}
	own.Inherit(Attributes{
		Keywords: []string{"above"}, Types: []string{"above"}, Metadata: []KeyValue{{Key: "k", Value: "above"}, {Key: "l", Value: "above"}},
		ForceNew: FlagFalse,
	})
	want := Attributes{
		Keywords: []string{"own"}, Types: []string{"above"}, Metadata: []KeyValue{{Key: "k", Value: "own"}, {Key: "l", Value: "above"}}, ForceNew: FlagTrue,
	}
	if !reflect.DeepEqual(own, want) {
		t.Fatalf("got %+v, want %+v", own, want)
	}
}

func TestAttributesCheck(t *testing.T) {
	full := fullAttributes()
	if err := full.CheckAttributes(); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]Attributes{"order": {EmailImportOrder: "SOMEHOW"}, "flag": {ForceNew: 3}} {
		if bad.CheckAttributes() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
