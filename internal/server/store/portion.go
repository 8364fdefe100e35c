package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"

	"github.com/archivefs/archivefs/internal/durable"
)

const (
	// placesTogether is how many words are put in order at a time, unless that makes more portions
	// than mostPortions. Each takes 16 bytes of memory.
	placesTogether = 4 << 20
	mostPortions   = 128
	// placeRoom is how many bytes a word takes in the file of a portion, at most or nearly so.
	placeRoom = 6
)

// portion are texts of the index whose ids follow each other. Its file has of each word a zero, its
// length and itself, and then for each place the id of the text, less the one before and one more,
// and the place: twice how many words are before it in the text, and one more for a stem. All numbers
// are varints.
type portion struct {
	first         int64 // the id of its first text
	next          int64 // that of the portion after it
	texts, places int64

	file *os.File // without a name, so that it goes with the process
	to   *bufio.Writer
	word string // that was put last
	last int64  // the id that was put last with it
}

// indexed is a text of the index, or how long it is.
type indexed struct {
	id           int64
	words, stems []string
}

// portions parts the texts of an index so that each portion, of about so many words, can be held in
// memory.
func portions(ctx context.Context, from session, together int64) (all []*portion, err error) {
	_, places, err := countTexts(ctx, from)
	if err != nil {
		return nil, err
	}
	together = max(together, places/mostPortions+1)
	err = eachLength(ctx, from, 0, math.MaxInt64, func(id int64, words, stems int) {
		n := len(all)
		if n == 0 || all[n-1].places >= together {
			if n > 0 {
				all[n-1].next = id
			}
			all = append(all, &portion{first: id, next: math.MaxInt64})
		}
		p := all[len(all)-1]
		p.texts, p.places = p.texts+1, p.places+int64(words+stems)
	})
	return all, err
}

// portionOf finds the portion of a text, nil where it is in none.
func portionOf(all []*portion, id int64) *portion {
	n := sort.Search(len(all), func(i int) bool { return all[i].first > id })
	if n == 0 {
		return nil
	}
	return all[n-1]
}

// create makes the file.
func (p *portion) create(dir string) (err error) {
	if p.file, err = durable.CreateTemp(dir); err != nil {
		return err
	}
	p.to = bufio.NewWriterSize(p.file, 64<<10)
	return os.Remove(p.file.Name())
}

func (p *portion) close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// put adds a place. All of one word are put one after the other, in the order of the ids.
func (p *portion) put(word []byte, id, at int64) error {
	b := p.to.AvailableBuffer()
	if string(word) != p.word || p.last == 0 {
		b = append(b, 0)
		b = binary.AppendUvarint(b, uint64(len(word)))
		b = append(b, word...)
		p.word, p.last = string(word), p.first
	}
	b = binary.AppendUvarint(b, uint64(id-p.last)+1) //nolint:gosec // they ascend
	b = binary.AppendUvarint(b, uint64(at))          //nolint:gosec // a number of words
	p.last = id
	_, err := p.to.Write(b)
	return err
}

// ordered are the texts, each with its words in order.
func (p *portion) ordered(ctx context.Context, from session) ([]indexed, error) {
	texts, at := make([]indexed, 0, p.texts), make(map[int64]int, p.texts)
	err := eachLength(ctx, from, p.first, p.next, func(id int64, words, stems int) {
		at[id] = len(texts)
		texts = append(texts, indexed{id, make([]string, words), make([]string, stems)})
	})
	if err != nil {
		return nil, err
	}
	err = p.each(func(word string, id, place int64) {
		n, known := at[id]
		if !known {
			return
		}
		into := texts[n].words
		if place%2 == 1 {
			into = texts[n].stems
		}
		if place/2 < int64(len(into)) {
			into[place/2] = word
		}
	})
	return texts, err
}

// each calls do for each place that was put.
func (p *portion) each(do func(word string, id, at int64)) error {
	if err := p.to.Flush(); err != nil {
		return err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(p.file, 64<<10)
	word, id := "", int64(0)
	for {
		step, err := binary.ReadUvarint(r)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case step == 0:
			n, err := binary.ReadUvarint(r)
			if err != nil {
				return err
			}
			text := make([]byte, n)
			if _, err := io.ReadFull(r, text); err != nil {
				return err
			}
			word, id = string(text), p.first
			continue
		}
		at, err := binary.ReadUvarint(r)
		if err != nil {
			return err
		}
		id += int64(step - 1)   //nolint:gosec // as it was put
		do(word, id, int64(at)) //nolint:gosec // likewise
	}
}

// countTexts counts the texts of an index, and the words of all.
func countTexts(ctx context.Context, from session) (texts, places int64, err error) {
	err = eachLength(ctx, from, 0, math.MaxInt64, func(_ int64, words, stems int) {
		texts, places = texts+1, places+int64(words+stems)
	})
	return texts, places, err
}

// eachLength calls do for each text of an index with how many words and stems it has, from a first
// id to before another one. FTS5 keeps that beside the index, as varints whose greatest digits come first.
func eachLength(ctx context.Context, from session, first, next int64, do func(id int64, words, stems int)) error {
	rows, err := from.query(ctx, "SELECT id, sz FROM content_index_docsize WHERE id >= ? AND id < ? ORDER BY id", first, next)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var sizes []byte
		if err := rows.Scan(&id, &sizes); err != nil {
			return err
		}
		var all []int
		n := 0
		for _, b := range sizes {
			if n = n<<7 | int(b&0x7f); b < 0x80 {
				all, n = append(all, n), 0
			}
		}
		if len(all) != 2 {
			return fmt.Errorf("text %d has the sizes %x", id, sizes)
		}
		do(id, all[0], all[1])
	}
	return rows.Err()
}
