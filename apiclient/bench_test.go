package apiclient

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

func BenchmarkDocumentList(b *testing.B) {
	const documents = 1000
	var list strings.Builder
	list.WriteByte('[')
	for i := range documents {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"id":%d,"name":"Rechnung %d.pdf","num-pages":3,"creation-date":"2023-11-22T14:14:29","archiving-date":null,`+
			`"folder-id":7,"keywords":["a","b"],"external-metadata":[{"key":"k","value":"v"}],"content-length":%d,"content-type":"application/pdf"}`,
			i+1, i, i*100)
	}
	list.WriteByte(']')
	body := []byte(list.String())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		documents := documentList{location: time.UTC, take: func(*archive.Document) {}}
		if err := readWhole(body, documents.read); err != nil {
			b.Fatal(err)
		}
	}
}
