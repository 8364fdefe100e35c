package cache

import "github.com/archivefs/archivefs/archive"

// Packing turns answers into a fraction of their memory, and back. A nil one leaves them as
// they are.
type Packing[V any] struct{ form form[V] }

// PackedDocuments packs document lists, in the form that they have on disk.
func PackedDocuments() *Packing[[]archive.Document] {
	return &Packing[[]archive.Document]{documentsForm}
}

// PackedFolders packs the children of folders, without their own.
func PackedFolders() *Packing[archive.Structure] {
	return &Packing[archive.Structure]{structureForm}
}

// Pack returns the packed form of a value, which is never empty.
func (p *Packing[V]) Pack(value V) string {
	if p == nil {
		return ""
	}
	return p.form.pack(value)
}

// Unpack returns the value of a packed form. Texts in it share the memory of that.
func (p *Packing[V]) Unpack(packed string) V {
	value, _ := p.form.unpack(packed)
	return value
}

// held is the entry as it is kept: packed, where there is a packing.
func (p *Packing[V]) held(e Entry[V]) Entry[V] {
	if p == nil {
		return e
	}
	var none V
	if e.Packed == "" {
		e.Packed = p.Pack(e.Value)
	}
	e.Value = none
	return e
}

// whole is the entry as callers get it.
func (p *Packing[V]) whole(e Entry[V]) Entry[V] {
	if e.Packed != "" {
		e.Value = p.Unpack(e.Packed)
	}
	return e
}
