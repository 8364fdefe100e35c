package apiclient

import (
	"bytes"
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
func (w *words) UnmarshalJSON(b []byte) error {
	*w = nil
	if b[0] != '[' {
		var s scalar
		err := s.UnmarshalJSON(b)
		*w = splitList(s.text)
		return err
	}
	var elements []scalar
	if err := json.Unmarshal(b, &elements); err != nil {
		return err
	}
	for _, s := range elements {
		if s.text != "" {
			*w = append(*w, s.text)
		}
	}
	return nil
}

// pairs are external metadata: an array of objects with key and value, one such
// object, or an object from keys to values. The service's order is kept.
type pairs []archive.KeyValue

// pair is one element of an array of pairs.
type pair struct {
	Key   scalar          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *pairs) UnmarshalJSON(b []byte) error {
	*p = nil
	switch b[0] {
	case '[':
		var elements list[pair]
		if err := elements.UnmarshalJSON(b); err != nil {
			return err
		}
		for _, e := range elements {
			p.add(e.Key.text, e.Value)
		}
	case '{':
		return p.object(b)
	}
	return nil
}

// object reads pairs from an object.
func (p *pairs) object(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return err
	}
	single := pairs{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		name, _ := key.(string) // a key is a string
		single.add(name, value)
	}
	if len(single) == 2 && strings.EqualFold(single[0].Key, "key") && strings.EqualFold(single[1].Key, "value") {
		single = pairs{{Key: single[0].Value, Value: single[1].Value}}
	}
	*p = single
	return nil
}

// add appends a pair, unless it has no key or no value. A value that is no scalar is
// kept as its JSON.
func (p *pairs) add(key string, value json.RawMessage) {
	if key == "" || len(value) == 0 || value[0] == 'n' {
		return
	}
	var s scalar
	if err := s.UnmarshalJSON(value); err != nil || !s.set {
		s.text = string(value)
	}
	*p = append(*p, archive.KeyValue{Key: key, Value: s.text})
}
