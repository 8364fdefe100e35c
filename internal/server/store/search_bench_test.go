package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// vocabulary makes up words like those of a language: few that are frequent, many that are rare.
type vocabulary struct {
	words  []string
	random *rand.Rand
	zipf   *rand.Zipf
}

func newVocabulary(n int) *vocabulary {
	random := rand.New(rand.NewPCG(1, 2))
	syllables := strings.Fields("rech nung fracht ber lin miet ver trag ab schluss kon to aus zug mül ler stra ße be leg lie fer schein an ge bot mah zahl gut haus bau steu er amt jahr mo nat")
	v := &vocabulary{random: random, zipf: rand.NewZipf(random, 1.1, 2.7, uint64(n-1))}
	for range n {
		var word strings.Builder
		for range 2 + random.IntN(3) {
			word.WriteString(syllables[random.IntN(len(syllables))])
		}
		v.words = append(v.words, word.String())
	}
	return v
}

// text is n words.
func (v *vocabulary) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = v.words[v.zipf.Uint64()]
	}
	return strings.Join(words, " ")
}

// stock adds documents to folders of 1000.
func stock(b *testing.B, s archiver, v *vocabulary, n int) {
	b.Helper()
	for i := 0; i < n; i += 1000 {
		f := folder(b, s, store.Folder{Name: fmt.Sprint("M", i)})
		documents := make([]store.Document, 1000)
		for j := range documents {
			documents[j] = store.Document{
				Folder: f, Name: v.text(3) + fmt.Sprintf(" %d.pdf", i+j), Created: time.Unix(int64(i+j), 0), Archived: time.Unix(1700000000, 0),
				Pages: 2, Size: 150_000, ContentType: "application/pdf", Digest: fmt.Sprintf("%064d", i+j), Keywords: []string{v.text(1), v.text(1)},
				Types: []string{"invoice"}, Metadata: []archive.KeyValue{{Key: "number", Value: fmt.Sprint(4711 + i + j)}, {Key: "customer", Value: v.text(2)}},
			}
		}
		if _, err := s.AddDocuments(b.Context(), documents, false); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearch looks for words among 100,000 documents, before and after they are in the index.
func BenchmarkSearch(b *testing.B) {
	benchOnEach(b, func(b *testing.B, s opened) {
		v := newVocabulary(50_000)
		stock(b, s, v, 100_000)
		b.Run("before", func(b *testing.B) { benchSearches(b, s, v) })
		b.Run("index", func(b *testing.B) {
			for b.Loop() {
				for more := true; more; {
					var err error
					if more, err = s.Index.IndexSaid(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run("after", func(b *testing.B) { benchSearches(b, s, v) })
	})
}

func benchSearches(b *testing.B, s opened, v *vocabulary) {
	rare := v.words[2000]
	for _, search := range []struct {
		name string
		q    store.Search
	}{
		{"frequent", store.Search{All: []string{v.words[3]}}},
		{"rare", store.Search{All: []string{rare}}},
		{"part", store.Search{All: []string{rare[2:]}}},
		{"number", store.Search{All: []string{"54711"}}},
		{"two", store.Search{All: []string{rare, v.words[3]}}},
		{"without", store.Search{All: []string{rare}, None: []string{v.words[3]}}},
		{"name", store.Search{Name: []string{rare}}},
		{"metadata", store.Search{Metadata: []archive.KeyValue{{Key: "number", Value: "54711"}}}},
		{"short", store.Search{All: []string{"xy"}}},
		{"nothing", store.Search{All: []string{"qqqqqq"}}},
	} {
		b.Run(search.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				ids, err := s.Search(b.Context(), search.q)
				if err != nil {
					b.Fatal(err)
				}
				n = len(ids)
			}
			b.ReportMetric(float64(n), "hits")
		})
	}
}

// BenchmarkSearchContents looks for words in the contents of 100,000 documents, of 300 words each.
func BenchmarkSearchContents(b *testing.B) {
	benchOnEach(b, func(b *testing.B, s opened) {
		v := newVocabulary(50_000)
		stock(b, s, v, 100_000)
		began := time.Now()
		for claimed := claim(b, s, 16); len(claimed) > 0; claimed = claim(b, s, 16) {
			for _, u := range claimed {
				if err := s.Index.AddText(b.Context(), u, v.text(300), store.Read, ""); err != nil {
					b.Fatal(err)
				}
			}
		}
		indexed(b, s)
		b.Logf("the index took %v", time.Since(began))
		benchSearches(b, s, v)
	})
}

// BenchmarkAddText adds texts of different lengths to the index, each in a transaction.
func BenchmarkAddText(b *testing.B) {
	for _, words := range []int{300, 10_000, 150_000} {
		b.Run(fmt.Sprint(words), func(b *testing.B) {
			benchOnEach(b, func(b *testing.B, s opened) {
				inbox := folder(b, s, store.Folder{Name: "I", Inbox: true})
				text := newVocabulary(50_000).text(words)
				b.SetBytes(int64(len(text)))
				n := 0
				for b.Loop() {
					b.StopTimer()
					n++
					holding(b, s, inbox, fmt.Sprint("c", n))
					u := claim(b, s, 1)[0]
					b.StartTimer()
					if err := s.Index.AddText(b.Context(), u, text, store.Read, ""); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
