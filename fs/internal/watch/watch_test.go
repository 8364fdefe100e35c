package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lists notes what a watch lists.
type lists struct {
	mu   sync.Mutex
	all  []string
	fail bool
}

func (l *lists) list(_ context.Context, folder string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, folder)
	if l.fail {
		return errors.New("the service is away")
	}
	return nil
}

// count returns how many listings there were since the last call.
func (l *lists) count() int {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.all)
	l.all = nil
	return n
}

func (l *lists) fails(fail bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = fail
}

// inBubble runs a test with a watch of every 30 s, and its goroutines counted.
func inBubble(t *testing.T, test func(t *testing.T, w *Watch[string], l *lists, running func() int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l, running, mu := &lists{}, 0, sync.Mutex{}
		add := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
		}
		w := &Watch[string]{Every: 30 * time.Second, List: l.list, Context: ctx, Go: func(do func()) {
			add(1)
			go func() {
				defer add(-1)
				do()
			}()
		}}
		test(t, w, l, func() int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return running
		})
		cancel()
		synctest.Wait()
		if running != 0 {
			t.Error("it does not end with the mount")
		}
	})
}

// within fails the test unless n is from least to most.
func within(t *testing.T, what string, n, least, most int) {
	t.Helper()
	if n < least || n > most {
		t.Errorf("%s: %d, want %d to %d", what, n, least, most)
	}
}

func TestAFolderIsListedAsLongAsSomebodyLooks(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Watch[string], l *lists, running func() int) {
		if running() != 0 || w.Watches("a") {
			t.Error("it runs although nobody has looked")
		}
		w.Used("a") // which nobody has listed
		w.Looked("a")
		time.Sleep(5 * time.Minute)
		within(t, "within 5 minutes", l.count(), 9, 11)
		w.Used("a")
		time.Sleep(lately + time.Minute)
		within(t, "until nobody looks any more", l.count(), 17, 23)
		if running() != 0 || w.Watches("a") {
			t.Error("it still runs")
		}
		time.Sleep(time.Hour)
		within(t, "without anybody who looks", l.count(), 0, 0)
		w.Looked("a")
		time.Sleep(time.Minute)
		within(t, "when somebody looks again", l.count(), 1, 2)
	})
}

func TestFoldersAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Watch[string], l *lists, _ func() int) {
		for i := range 1000 {
			w.Looked(fmt.Sprint(i))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(40 * time.Second)
		within(t, "listings", l.count(), most, 2*most)
		if w.Watches("1") || !w.Watches("999") {
			t.Error("not those that were looked at last are watched")
		}
	})
}

func TestItBacksOffWhileTheServiceIsAway(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Watch[string], l *lists, _ func() int) {
		l.fails(true)
		w.Looked("a")
		w.Looked("b")
		for range 12 {
			time.Sleep(5 * time.Minute)
			w.Used("a")
			w.Used("b")
		}
		within(t, "in the first hour", l.count(), 10, 30)
		l.fails(false)
		time.Sleep(longest + time.Minute)
		l.count()
		w.Used("a")
		time.Sleep(5 * time.Minute)
		within(t, "when it is back", l.count(), 5, 20)
	})
}

func TestHasten(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Watch[string], l *lists, _ func() int) {
		w.Hasten() // nothing
		w.Looked("a")
		w.Looked("b")
		within(t, "before", l.count(), 0, 0)
		w.Hasten()
		within(t, "after", l.count(), 2, 2)
		time.Sleep(45 * time.Second)
		within(t, "later", l.count(), 2, 2)
	})
}

func TestNothingIsWatchedWithoutATime(t *testing.T) {
	w := &Watch[string]{}
	w.Looked("a")
	w.Used("a")
	if w.Watches("a") {
		t.Error("it is watched")
	}
}
