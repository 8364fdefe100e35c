package result

import (
	"path/filepath"
	"reflect"
	"testing"
)

func TestSetComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	s, err := Read(path)
	if err != nil || len(s) > 0 {
		t.Fatalf("%v, %v", s, err)
	}
	e := s.Entry("a", "find")
	e.Times, e.Requests = append(e.Times, 3, 1, 2), map[string]int{"GET": 2, "HEAD": 3, "_conns": 9}
	s.Entry("a", "ls").Note = "gave up"
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := Read(path)
	if err != nil || !reflect.DeepEqual(again, s) {
		t.Fatalf("%v, %v", again, err)
	}
	if best, ok := again.Best("a", "find"); best != 1 || !ok || e.Median() != 2 || e.Total() != 5 {
		t.Errorf("best %v, %t; median %v, %d requests", best, ok, e.Median(), e.Total())
	}
	for _, none := range []string{"ls", "cat"} {
		if _, ok := again.Best("a", none); ok {
			t.Errorf("%s was measured", none)
		}
	}
	if again.Note("a", "ls") != "gave up" || again.Note("b", "ls") != "" {
		t.Error("another note")
	}
	again.Entry("a", "find").Note = "wrong count 3, want 4"
	if _, ok := again.Best("a", "find"); ok {
		t.Error("what failed is a measure")
	}
	again.Forget("a", "find", "ls", "cat")
	again.Forget("c", "find")
	if len(again["a"]) > 0 {
		t.Errorf("%v is left", again)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		times []float64
		want  float64
	}{{nil, 0}, {[]float64{4}, 4}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}} {
		if got := (&Entry{Times: c.times}).Median(); got != c.want {
			t.Errorf("%v: %v", c.times, got)
		}
	}
}
