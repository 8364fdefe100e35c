package spool

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
)

// Receipt is a line of the receipt log: what the archive confirmed. An upload may have two
// equal ones when the program or the machine stopped in between; Upload tells them apart.
type Receipt struct {
	Time   time.Time `json:"time"`
	Upload string    `json:"upload"`
	// Path is where the file was shown in the mount.
	Path   string `json:"path"`
	Size   int64  `json:"size"`   // in bytes
	SHA256 string `json:"sha256"` // of the bytes, hexadecimal
	// Document is its id, 0 when the service did not tell, or calls it so.
	Document json.Number `json:"document"`
	// UploadedWith are the other documents that the service made of an e-mail.
	UploadedWith []json.Number `json:"uploadedWith,omitempty"`
}

// receipts is the receipt log: JSON lines, only ever appended to. They are for people: nothing depends on one, so none
// is synced.
type receipts struct {
	mu sync.Mutex
	// file is nil where none is kept.
	file *os.File // +checklocks:mu
}

// open opens the log at path, which is made when it is not there. A last line that a crash cut
// off is ended, so that the next one stands alone.
func (l *receipts) open(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600) //nolint:gosec // below the state directory
	if err != nil {
		return fmt.Errorf("open receipt log: %w", err)
	}
	if err := endLine(f); err != nil {
		return errors.Join(fmt.Errorf("receipt log: %w", err), f.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = f
	return nil
}

// ReceiptsSince returns which documents uploads became, by the log at path from an offset on: 0 for one
// where the service did not tell, and nothing for one that the log lacks.
func ReceiptsSince(path string, offset int64) (documents map[string]archive.ID, err error) {
	f, err := os.Open(path) //nolint:gosec // below the state directory
	if err != nil {
		return nil, fmt.Errorf("open receipt log: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read receipt log: %w", err)
	}
	documents = map[string]archive.ID{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r Receipt
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			n, _ := r.Document.Int64() // 0 is no document, or one that is not looked for
			documents[r.Upload] = archive.ID(n)
		}
	}
	return documents, lines.Err()
}

func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.WriteString("\n")
	return err
}

// add writes a receipt.
func (l *receipts) add(r *Record, others []archive.ID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	receipt := Receipt{
		Time: r.Changed, Upload: r.ID, Path: r.Path + "/" + r.Name, Size: r.Size, SHA256: r.SHA256, Document: json.Number(r.Document.String()),
	}
	for _, id := range others {
		receipt.UploadedWith = append(receipt.UploadedWith, json.Number(id.String()))
	}
	line, err := json.Marshal(receipt)
	if err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	return nil
}

func (l *receipts) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}

const (
	// digestAtOnce is up to which length in bytes a content is hashed as it is written. Beyond it, in a file,
	// content.catchUp hashes in the background: the writer would wait longer for that than for the disk.
	digestAtOnce = 4 << 20
	// digestBehind is how many bytes there must be for that.
	digestBehind = 1 << 20
)

// digest is the SHA-256 of the first pos bytes of a file, computed while the file is written from front to back, so
// that most files need not be read again for it. Guarded by content.mu.
type digest struct {
	hash hash.Hash
	pos  int64
	// front is up to where the file was written from front to back.
	front int64
	// taken is up to where catchUp hashes; it closes busy at its end, which is nil while none
	// runs. stale says that these bytes have changed meanwhile.
	taken int64
	busy  chan struct{}
	stale bool
}

// wrote takes note of p, written at off. behind says that there is work for catchUp.
func (d *digest) wrote(p []byte, off int64) (behind bool) {
	d.cut(off)
	if off != d.front {
		return false
	}
	d.front += int64(len(p))
	switch {
	case d.busy != nil:
		return false
	case off == d.pos && d.front <= digestAtOnce:
		d.start()
		d.hash.Write(p)
		d.pos = d.front
	}
	return d.front-d.pos >= digestBehind
}

func (d *digest) start() {
	if d.hash == nil {
		d.hash, d.pos = sha256.New(), 0
	}
}

// cut takes note that the bytes from off on are no longer what they were.
func (d *digest) cut(off int64) {
	if off >= d.front {
		return
	}
	d.front = off
	d.stale = d.stale || d.busy != nil && off < d.taken
	if d.busy == nil && off < d.pos {
		d.hash, d.pos = nil, 0
	}
}

// sum reads what is not hashed yet of the size bytes of file.
func (d *digest) sum(file io.ReaderAt, size int64) (string, error) {
	d.start()
	var err error
	if d.pos < size { // of most files all is hashed by now
		var n int64
		n, err = io.Copy(d.hash, io.NewSectionReader(file, d.pos, size-d.pos))
		d.pos += n
	}
	d.front = d.pos
	switch {
	case err != nil:
		d.hash, d.pos = nil, 0
		return "", fmt.Errorf("read back what was written: %w", err)
	case d.pos != size:
		return "", errors.New("its data is shorter than what was written")
	}
	return hex.EncodeToString(d.hash.Sum(nil)), nil
}

// sumOf returns the SHA-256 of r in hexadecimal, reading at most limit bytes, and how many were read.
func sumOf(r io.Reader, limit int64) (sum string, n int64, err error) {
	h := sha256.New()
	n, err = io.Copy(h, io.LimitReader(r, limit))
	return hex.EncodeToString(h.Sum(nil)), n, err
}
