package cache

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// FuzzKnown reads bytes as each kind of value. What can be read is read the same again
// after it was written.
func FuzzKnown(f *testing.F) {
	folder := archive.Folder{ID: 1, Name: "a", ChildrenKnown: true, Children: []archive.Folder{{ID: 2, Name: "b"}}}
	f.Add([]byte(structureForm.pack(archive.Structure{Free: true, Folders: []archive.Folder{folder}})))
	f.Add([]byte(inboxesForm.pack(archive.Inboxes{Inboxes: []archive.Inbox{{UserID: 7, Folder: folder}}})))
	f.Add([]byte(documentsForm.pack([]archive.Document{{
		ID: 3, Name: "c", Created: time.Date(2024, 3, 1, 12, 0, 0, 1, time.FixedZone("", -3600)),
		Keywords: []string{"d"}, Metadata: []archive.KeyValue{{Key: "e", Value: "f"}}, Size: archive.SizeUnknown,
	}})))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		again(t, b, structureForm)
		again(t, b, inboxesForm)
		again(t, b, documentsForm)
	})
}

func again[V any](t *testing.T, b []byte, f form[V]) {
	t.Helper()
	v, ok := f.unpack(string(b))
	if !ok {
		return
	}
	written := f.pack(v)
	second, ok := f.unpack(written)
	if packed := f.pack(second); !ok || packed != written {
		t.Errorf("%x was read as %+v, written as %x, and again as %x", b, v, written, packed)
	}
}

// fill sets every field of what v is: each to something, a list to two elements.
func fill(t *testing.T, v reflect.Value, next *int64) {
	t.Helper()
	*next++
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Unix(*next, *next).In(time.FixedZone("", int(*next)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field, next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		if v.Type().Elem() == reflect.TypeFor[archive.Folder]() && *next > 20 {
			v.Set(reflect.Zero(v.Type())) // deep enough
		}
		for i := range v.Len() {
			fill(t, v.Index(i), next)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(1 + *next%2))
	case reflect.Int, reflect.Int64:
		v.SetInt(*next)
	default:
		t.Fatalf("a field of type %v: fill it here, and go over it in codec.go", v.Type())
	}
}

// A field of a value that its form does not go over is lost.
func TestFormsGoOverEveryField(t *testing.T) {
	t.Run("documents", func(t *testing.T) { everyField(t, documentsForm) })
	t.Run("inboxes", func(t *testing.T) { everyField(t, inboxesForm) })
}

func everyField[V any](t *testing.T, f form[V]) {
	t.Helper()
	var want V
	var next int64
	fill(t, reflect.ValueOf(&want).Elem(), &next)
	if got, ok := f.unpack(f.pack(want)); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("written %+v\nread    %+v, %v: a field is missing in codec.go", want, got, ok)
	}
}

// Values of these forms lie on disks, in buckets of these names.
func TestFormsOnDisk(t *testing.T) {
	at := time.Date(2024, 3, 1, 12, 30, 15, 123456789, time.FixedZone("", 2*60*60))
	documents := []archive.Document{{
		ID: 300, Name: "a", Pages: 3, Created: at, Folder: 17, Keywords: []string{"k"}, Metadata: []archive.KeyValue{{Key: "b", Value: "c"}},
		AutoExport: archive.FlagFalse, Size: archive.SizeUnknown, ContentType: "t",
	}}
	inboxes := archive.Inboxes{Free: true, Inboxes: []archive.Inbox{{UserID: -1, Folder: archive.Folder{
		ID: 3, Name: "A", ChildrenKnown: true, Children: []archive.Folder{{ID: 4, Name: "S"}},
	}}}}
	structure := archive.Structure{Free: true, Folders: []archive.Folder{{ID: 5, Name: "R"}}}
	for _, tt := range []struct{ bucket, got, want string }{
		{documentsBucket, documentsForm.pack(documents), "documents.v1 01d80401610601eeb88dde0c959aef3ac070002201016b010162016301010174"},
		{inboxesBucket, inboxesForm.pack(inboxes), "inboxes.v1 01010106014101010801530000"},
		{foldersBucket, structureForm.pack(structure), "folders.v1 01010a0152"},
		{readAsBucket, representationForm.pack(archive.PDF), "representation.v1 02"},
	} {
		if got := fmt.Sprintf("%s %x", tt.bucket, tt.got); got != tt.want {
			t.Errorf("got  %s\nwant %s\nanother form needs a new version of the bucket", got, tt.want)
		}
	}
}
