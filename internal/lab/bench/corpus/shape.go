package corpus

import "fmt"

// Shape says how much of everything a corpus has.
type Shape struct {
	Name string `json:"name"`

	Wide int `json:"wide"` // documents of W

	// M: mandators, folders of the third level in each of the second, documents in each folder.
	Mandators int `json:"mandators"`
	Leaves    int `json:"leaves"`
	Documents int `json:"documents"`

	// S, which has two mandators, likewise.
	SLeaves    int   `json:"s-leaves"`
	SDocuments int   `json:"s-documents"`
	Scans      int   `json:"scans"`
	ScanSize   int64 `json:"scan-size"` // bytes
	BigSize    int64 `json:"big-size"`  // bytes, of the big document and of the big file to copy in

	In     int `json:"in"`     // documents to copy in
	Sample int `json:"sample"` // documents of S that are read over a slow network
}

// The shapes: Full is what is measured, Small is for a quick look at whether all works.
const (
	Full  = "full"
	Small = "small"
)

// ShapeOf returns the shape of that name.
func ShapeOf(name string) (Shape, error) {
	switch name {
	case Full:
		return Shape{
			Name: name, Wide: 20_000, Mandators: 10, Leaves: 30, Documents: 10,
			SLeaves: 5, SDocuments: 10, Scans: 6, ScanSize: 20 << 20, BigSize: 512 << 20, In: 500, Sample: 200,
		}, nil
	case Small:
		return Shape{
			Name: name, Wide: 300, Mandators: 2, Leaves: 1, Documents: 3,
			SLeaves: 1, SDocuments: 2, Scans: 1, ScanSize: 1 << 20, BigSize: 8 << 20, In: 20, Sample: 20,
		}, nil
	}
	return Shape{}, fmt.Errorf("there is no corpus %q; take %s or %s", name, Full, Small)
}
