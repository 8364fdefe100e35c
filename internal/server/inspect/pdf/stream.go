package pdf

import (
	"compress/zlib"
	"fmt"
	"io"
)

// decode returns the bytes of a stream (7.4).
func (f *file) decode(o object) ([]byte, error) {
	length, err := f.value(o.dict["Length"])
	n, is := length.(int64)
	if err != nil || !is || o.at == 0 || n < 0 || n > f.size-o.at {
		return nil, errSyntax
	}
	var data io.Reader = io.NewSectionReader(f, o.at, n)
	filter := o.dict["Filter"]
	if list, is := filter.(array); is && len(list) == 1 {
		filter = list[0]
	}
	switch filter {
	case nil:
	case name("FlateDecode"):
		if data, err = zlib.NewReader(data); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%w: another filter", errSyntax)
	}
	decoded, err := io.ReadAll(io.LimitReader(data, maxDecoded-f.decoded+1))
	if f.decoded += int64(len(decoded)); f.decoded > maxDecoded || err != nil && len(decoded) == 0 {
		return nil, errSyntax
	}
	return unpredicted(decoded, o.dict)
}

// unpredicted undoes a predictor of PNG (7.4.4.4), the only one that tables of objects have.
func unpredicted(data []byte, d dict) ([]byte, error) {
	parms, is := d["DecodeParms"].(dict)
	if list, many := d["DecodeParms"].(array); many && len(list) == 1 {
		parms, is = list[0].(dict)
	}
	predictor, _ := parms["Predictor"].(int64)
	if !is || predictor < 2 {
		return data, nil
	}
	columns, _ := parms["Columns"].(int64)
	if predictor < 10 || columns < 1 || columns > 64 || parms["Colors"] != nil && parms["Colors"] != int64(1) {
		return nil, errSyntax
	}
	above := make([]byte, columns)
	plain := make([]byte, 0, len(data))
	for row := int(columns) + 1; len(data) >= row; data = data[row:] {
		kind, line := data[0], data[1:row]
		for i := range line {
			var left, corner byte
			if i > 0 {
				left, corner = line[i-1], above[i-1]
			}
			switch kind {
			case 0:
			case 1:
				line[i] += left
			case 2:
				line[i] += above[i]
			case 3:
				line[i] += byte((int(left) + int(above[i])) / 2) //nolint:gosec // the mean of two bytes is one
			case 4:
				line[i] += paeth(left, above[i], corner)
			default:
				return nil, errSyntax
			}
		}
		plain, above = append(plain, line...), line
	}
	return plain, nil
}

// paeth is the neighbour that is nearest to left + up - corner (PNG, 9.4).
func paeth(left, up, corner byte) byte {
	p := int(left) + int(up) - int(corner)
	a, b, c := abs(p-int(left)), abs(p-int(up)), abs(p-int(corner))
	switch {
	case a <= b && a <= c:
		return left
	case b <= c:
		return up
	}
	return corner
}

func abs(n int) int { return max(n, -n) }
