package redolog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/redolog"
)

const size = 1 << 20

// place is what a log protects: values by key, those in place and those that are durable there.
type place struct {
	mu         sync.Mutex
	now        map[string]string
	durable    map[string]string
	replays    int
	checkpoint error // of Checkpoint
	hold       chan struct{}
}

func newPlace() *place { return &place{now: map[string]string{}, durable: map[string]string{}} }

// crash loses what is not durable.
func (p *place) crash() *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &place{now: maps.Clone(p.durable), durable: maps.Clone(p.durable)}
}

func (p *place) set(key, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now[key] = value
}

func (p *place) get(key string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now[key]
}

func (p *place) options(dir, boot string) redolog.Options {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return redolog.Options{
		Dir: dir, Size: size, Boot: boot, Log: log,
		Replay: func(entries []redolog.Entry) error {
			p.replays++
			for _, e := range entries {
				value, err := io.ReadAll(e.Body)
				if err != nil {
					return err
				}
				p.set(e.Key, string(e.Meta)+string(value))
			}
			return nil
		},
		Checkpoint: func(keys []string) error {
			if p.hold != nil {
				<-p.hold
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) < len(keys) {
				return fmt.Errorf("keys %q", keys)
			}
			for _, key := range keys {
				p.durable[key] = p.now[key]
			}
			return p.checkpoint
		},
	}
}

func (p *place) open(t *testing.T, dir, boot string) *redolog.Log {
	t.Helper()
	l, err := redolog.Open(p.options(dir, boot))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func body(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

// write changes a value as a caller does: in place, then in the log, else durable in place.
func (p *place) write(l *redolog.Log, key, value string) error {
	p.set(key, value)
	err := l.Append(redolog.Entry{Key: key, Meta: []byte(value[:1]), Body: body(value[1:])})
	if errors.Is(err, redolog.ErrFull) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.durable[key] = value
		return nil
	}
	return err
}

// made has the files made.
func (p *place) made(t *testing.T, dir string) {
	t.Helper()
	l := p.open(t, dir, "made")
	for i := range 20 {
		if err := p.write(l, fmt.Sprint("made", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"redo.0", "redo.1"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != size {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
	}
}

// copied is the directory as a crash leaves it.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// Few entries make no files. Files that exist take the first entry.
func TestFewEntriesMakeNoFiles(t *testing.T) {
	for name, tt := range map[string]struct{ worth, made int }{"default": {0, 8}, "configured": {3, 3}} {
		t.Run(name, func(t *testing.T) {
			dir, p := t.TempDir(), newPlace()
			o := p.options(dir, "a")
			o.Worth = tt.worth
			for _, run := range []struct {
				entries, files int
				first          error
			}{{tt.made - 1, 0, redolog.ErrFull}, {tt.made, 2, redolog.ErrFull}, {1, 2, nil}} {
				l, err := redolog.Open(o)
				if err != nil {
					t.Fatal(err)
				}
				for i := range run.entries {
					if err := l.Append(redolog.Entry{Key: fmt.Sprint(i)}); i == 0 && !errors.Is(err, run.first) {
						t.Errorf("the first entry: %v, want %v", err, run.first)
					}
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if files, err := os.ReadDir(dir); err != nil || len(files) != run.files {
					t.Errorf("%d entries leave %v, %v", run.entries, files, err)
				}
			}
		})
	}
}

func TestEntriesSurviveACrash(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	l := p.open(t, dir, "a")
	want := map[string]string{"a": "1", "b": "2" + strings.Repeat("b", 3*4096), "c": "3" + strings.Repeat("c", 40000)}
	for _, key := range []string{"c", "a", "b", "a"} {
		if err := p.write(l, key, want[key]); err != nil {
			t.Fatal(err)
		}
	}
	if entries, closeBodies, err := redolog.Read(dir); err != nil || len(entries) != 4 || entries[2].Key != "b" {
		t.Errorf("read %v, %v", entries, err)
	} else {
		closeBodies()
	}
	p.set("a", "never promised")
	after := p.crash()
	left := copied(t, dir)
	again := after.open(t, left, "b")
	for key, value := range want {
		if got := after.get(key); got != value {
			t.Errorf("%s is %.20q, want %.20q", key, got, value)
		}
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if third := after.crash(); third.open(t, left, "c").Close() != nil || third.replays > 0 || third.get("c") != want["c"] {
		t.Errorf("what was checkpointed was replayed, or was not checkpointed: %d, %.20q", third.replays, third.get("c"))
	}
}

func TestWhatIsInPlaceIsNewerInTheSameRunOfTheMachine(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	l := p.open(t, dir, "a")
	if err := p.write(l, "k", "old"); err != nil {
		t.Fatal(err)
	}
	p.set("k", "new") // and the process is killed
	left := copied(t, dir)
	if err := p.open(t, left, "a").Close(); err != nil {
		t.Fatal(err)
	}
	if p.replays > 0 || p.durable["k"] != "new" {
		t.Errorf("replayed %d times; durable is %q", p.replays, p.durable["k"])
	}
	p.checkpoint = errors.New("no disk")
	if _, err := redolog.Open(p.options(copied(t, dir), "a")); !errors.Is(err, p.checkpoint) {
		t.Errorf("opened with %v", err)
	}
}

func TestATornEntryEndsTheLog(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	l := p.open(t, dir, "a")
	value := strings.Repeat("v", 10000)
	for i := range 4 {
		err := redolog.ErrFull
		for errors.Is(err, redolog.ErrFull) { // as long as it empties the files
			runtime.Gosched()
			err = l.Append(redolog.Entry{Key: fmt.Sprint("k", i), Meta: []byte(value[:1]), Body: body(value[1:])})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var whole []byte
	for _, name := range []string{"redo.0", "redo.1"} { // the older one has them: which one that is depends on when they were made
		file, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(file, []byte(value)) {
			whole = file
		}
	}
	const block, start, length, padded = 4096, 33, 32 + 2 + 10000, 3 * 4096 // an entry has 32 bytes, a key of 2 and a value
	for at := range block + 4*padded {
		in := (at - block) % padded
		want := 4
		switch {
		case at < start:
			want = 0
		case at >= block && in < length:
			want = (at - block) / padded
		}
		if at >= start+2 && at%509 != 0 && (at < block || in > 40 && in < length-2 || in > length+2) {
			continue
		}
		torn := bytes.Clone(whole)
		torn[at] ^= 1
		left := t.TempDir()
		if err := os.WriteFile(filepath.Join(left, "redo.0"), torn, 0o600); err != nil {
			t.Fatal(err)
		}
		entries, closeBodies, err := redolog.Read(left)
		if err != nil {
			t.Fatal(err)
		}
		closeBodies()
		if len(entries) != want {
			t.Fatalf("byte %d wrong: %d entries, want %d", at, len(entries), want)
		}
	}
}

func TestEntriesOfAnEarlierUseOfTheFileAreNotReplayed(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	for run := range 3 {
		l := p.open(t, dir, "a")
		for i := range 5 - run {
			if err := p.write(l, fmt.Sprintf("run%d-%d", run, i), "v"); err != nil {
				t.Fatal(err)
			}
		}
		if run < 2 {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, closeBodies, err := redolog.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	closeBodies()
	if len(entries) != 3 || entries[0].Key != "run2-0" {
		t.Errorf("%d entries, the first %v", len(entries), entries)
	}
}

// TestNothingIsLostAndNothingUndone writes from several goroutines through many changes of files, and crashes in between.
func TestNothingIsLostAndNothingUndone(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	for round := range 5 {
		boot := fmt.Sprint(round)
		l := p.open(t, dir, boot)
		var writers sync.WaitGroup
		promised := make([]map[string]string, 4)
		for w := range promised {
			promised[w] = map[string]string{}
			writers.Go(func() {
				for i := range 100 {
					key := fmt.Sprint("w", w, "k", rand.N(20))
					value := fmt.Sprint(round, i) + strings.Repeat("x", rand.N(20000))
					if err := p.write(l, key, value); err != nil {
						t.Error(err)
						return
					}
					promised[w][key] = value
				}
			})
		}
		writers.Wait()
		left := copied(t, dir)
		after := p.crash()
		again := after.open(t, left, "after"+boot)
		for _, of := range promised {
			for key, value := range of {
				if got := after.get(key); got != value {
					t.Errorf("round %d: %s is %.10q (%d bytes), want %.10q (%d bytes)", round, key, got, len(got), value, len(value))
				}
			}
		}
		if err := errors.Join(again.Close(), l.Close()); err != nil {
			t.Fatal(err)
		}
		p, dir = after, left
	}
}

func TestAKnownKeyWaitsForRoom(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	l := p.open(t, dir, "a")
	p.hold = make(chan struct{})
	long := "v" + strings.Repeat("v", size/17)
	for i := 0; ; i++ {
		err := l.Append(redolog.Entry{Key: fmt.Sprint("k", i), Body: body(long)})
		if errors.Is(err, redolog.ErrFull) {
			break
		}
		if err != nil || i > 100 {
			t.Fatal(i, err)
		}
	}
	waits := make(chan error)
	go func() { waits <- p.write(l, "k1", "new") }()
	if err := l.Append(redolog.Entry{Key: "unknown", Body: body("")}); !errors.Is(err, redolog.ErrFull) {
		t.Errorf("got %v, want ErrFull", err)
	}
	select {
	case err := <-waits:
		t.Fatalf("a known key did not wait: %v", err)
	default:
	}
	close(p.hold)
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil || p.durable["k1"] != "new" {
		t.Errorf("closed with %v; durable is %.10q", err, p.durable["k1"])
	}
}

func TestWhatCannotBeCheckpointedIsKept(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	l := p.open(t, dir, "a")
	if err := p.write(l, "k", "value"); err != nil {
		t.Fatal(err)
	}
	p.checkpoint = errors.New("no disk")
	if err := l.Close(); !errors.Is(err, p.checkpoint) {
		t.Fatalf("closed with %v", err)
	}
	after := newPlace()
	if err := after.open(t, dir, "b").Close(); err != nil || after.get("k") != "value" {
		t.Errorf("%v; replayed %q", err, after.get("k"))
	}
}

func TestAnEntryThatIsTooLargeIsRefused(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	l := p.open(t, dir, "a")
	if err := l.Append(redolog.Entry{Key: "k", Body: body(strings.Repeat("v", size))}); !errors.Is(err, redolog.ErrFull) {
		t.Errorf("got %v, want ErrFull", err)
	}
	if err := l.Append(redolog.Entry{Key: "k", Body: io.NewSectionReader(strings.NewReader("short"), 0, 10)}); err == nil || errors.Is(err, redolog.ErrFull) {
		t.Errorf("a body that is shorter than it says: %v", err)
	}
	if err := l.Append(redolog.Entry{Key: "k", Body: body(strings.Repeat("v", int(l.Most())))}); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	larger := p.options(dir, "a")
	larger.Size = 2 * size
	if l, err := redolog.Open(larger); err != nil || l.Close() != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "redo.0")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file of another size: %v", err)
	}
}

// Scrub leaves nothing of earlier changes in the files, while others go on.
func TestScrub(t *testing.T) {
	dir, p := t.TempDir(), newPlace()
	p.made(t, dir)
	l := p.open(t, dir, "")
	secret := strings.Repeat("geheim", 1000)
	inFiles := func() (n int) {
		for _, name := range []string{"redo.0", "redo.1"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(text, []byte("geheim"))
		}
		return n
	}
	appended := 0
	for i := 0; appended < 300; i++ { // more than one file has room for
		switch err := p.write(l, fmt.Sprint("k", i), secret); {
		case err == nil:
			appended++
		case !errors.Is(err, redolog.ErrFull):
			t.Fatal(err)
		}
	}
	if inFiles() == 0 {
		t.Fatal("the log never had it")
	}
	var others sync.WaitGroup
	for i := range 4 {
		others.Go(func() {
			for j := range 50 {
				if err := p.write(l, fmt.Sprint("o", i, "-", j), "offen"); err != nil && !errors.Is(err, redolog.ErrFull) {
					t.Error(err)
				}
			}
		})
	}
	if err := l.Scrub(); err != nil {
		t.Fatal(err)
	}
	if n := inFiles(); n != 0 {
		t.Errorf("it is there %d times", n)
	}
	others.Wait()
	if err := p.write(l, "last", "offen"); err != nil {
		t.Errorf("after it: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
