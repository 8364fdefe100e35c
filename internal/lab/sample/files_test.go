package main

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

func pdfConfiguration() *model.Configuration {
	api.DisableConfigDir()
	return model.NewDefaultConfiguration()
}

// TestPDFText looks for the text in the page itself, in WinAnsiEncoding.
func TestPDFText(t *testing.T) {
	p := paper{title: "Prüfung", author: "Öhmichen KG", date: day(2025, 3, 14)}
	p.add(styleBody, "Straße – 5 €")
	var buf bytes.Buffer
	if err := pdfSource(p)(&buf); err != nil {
		t.Fatal(err)
	}
	doc, err := api.ReadValidateAndOptimize(bytes.NewReader(buf.Bytes()), pdfConfiguration())
	if err != nil {
		t.Fatal(err)
	}
	page, err := pdfcpu.ExtractPageContent(doc, 1)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Stra\xdfe \x96 5 \x80", "\xd6hmichen KG", "Seite 1"} {
		if !bytes.Contains(content, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestScannedPDFIsRepeatable makes the same pages often enough that an order by chance
// shows.
func TestScannedPDFIsRepeatable(t *testing.T) {
	p := statementPaper(newRandom(1), muster(), 2025, time.May)
	content := scannedPDFSource(p, 1)
	var first bytes.Buffer
	if err := content(&first); err != nil {
		t.Fatal(err)
	}
	if pages, err := api.PageCount(bytes.NewReader(first.Bytes()), pdfConfiguration()); err != nil || pages < 2 {
		t.Fatalf("%d pages, error %v, want several", pages, err)
	}
	for i := range 8 {
		var again bytes.Buffer
		if err := content(&again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), first.Bytes()) {
			t.Fatalf("run %d wrote other bytes", i+2)
		}
	}
}
