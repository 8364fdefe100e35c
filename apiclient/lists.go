package apiclient

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// list is a value described as an array, for which some services write the single
// element. Elements of another shape read as their zero value.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	if b[0] == 'n' {
		return nil
	}
	if b[0] == '[' {
		return lenient(json.Unmarshal(b, (*[]T)(l)))
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return lenient(err)
	}
	*l = list[T]{one}
	return nil
}

// lenient lets a value of another shape pass.
func lenient(err error) error {
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) {
		return nil
	}
	return err
}

// words are keywords or document types: an array of strings, or one string with commas.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(b []byte) error { return readerOf(b).words(w) }

// words reads the next value.
func (r *jsonReader) words(w *words) error {
	*w = nil
	var s scalar
	if r.kind() != '[' {
		err := r.scalar(&s)
		*w = splitList(s.text)
		return err
	}
	return r.elements(func() error {
		err := r.scalar(&s)
		if err == nil && s.text != "" {
			*w = append(*w, s.text)
		}
		return err
	})
}

// pairs are external metadata: an array of objects with key and value, one such
// object, or an object from keys to values. The service's order is kept.
type pairs []archive.KeyValue

// UnmarshalJSON implements json.Unmarshaler.
func (p *pairs) UnmarshalJSON(b []byte) error { return readerOf(b).pairs(p) }

// pairs reads the next value.
func (r *jsonReader) pairs(p *pairs) error {
	*p = nil
	switch r.kind() {
	case '[':
		return r.elements(func() error { return r.pair(p) })
	case '{':
		return r.object(p)
	}
	return r.skip()
}

// pair reads an element of an array and appends it.
func (r *jsonReader) pair(p *pairs) error {
	if r.kind() != '{' {
		return r.skip()
	}
	var key, value scalar
	err := r.members(func(name []byte) error {
		switch string(name) {
		case "key":
			return r.scalar(&key)
		case "value":
			return r.value(&value)
		}
		return r.skip()
	})
	p.add(key.text, value)
	return err
}

// object reads pairs from an object.
func (r *jsonReader) object(p *pairs) error {
	single := pairs{}
	err := r.namedMembers(func(name []byte) error {
		key := string(name)
		var value scalar
		err := r.value(&value)
		single.add(key, value)
		return err
	})
	if len(single) == 2 && strings.EqualFold(single[0].Key, "key") && strings.EqualFold(single[1].Key, "value") {
		single = pairs{{Key: single[0].Value, Value: single[1].Value}}
	}
	*p = single
	return err
}

// value reads the value of a pair. One that is no scalar is kept as its JSON.
func (r *jsonReader) value(s *scalar) error {
	value, err := r.raw()
	if err != nil {
		return err
	}
	if *s = scalarOf(value); !s.set && value[0] != 'n' {
		*s = scalar{text: string(value), set: true}
	}
	return nil
}

// add appends a pair, unless it has no key or no value.
func (p *pairs) add(key string, value scalar) {
	if key != "" && value.set {
		*p = append(*p, archive.KeyValue{Key: key, Value: value.text})
	}
}
