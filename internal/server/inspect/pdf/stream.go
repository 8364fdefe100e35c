package pdf

import (
	"compress/zlib"
	"io"
)

// decode returns the bytes of a stream (7.4), or nil.
func (f *file) decode(o object) []byte {
	n, is := f.value(o.dict["Length"]).(int64)
	if !is || o.at == 0 || n < 0 || n > f.size-o.at {
		return nil
	}
	var data io.Reader = io.NewSectionReader(f, o.at, n)
	switch only(o.dict["Filter"]) {
	case nil:
	case name("FlateDecode"):
		unpacked, err := zlib.NewReader(data)
		if err != nil {
			return nil
		}
		data = unpacked
	default:
		return nil
	}
	decoded, err := io.ReadAll(io.LimitReader(data, maxDecoded-f.decoded+1))
	if f.decoded += int64(len(decoded)); f.decoded > maxDecoded || err != nil && len(decoded) == 0 {
		return nil
	}
	if parms, is := only(o.dict["DecodeParms"]).(dict); is {
		return unpredicted(decoded, parms)
	}
	return decoded
}

// only is what a list of one has, or what is no list.
func only(v any) any {
	if list, is := v.(array); is && len(list) == 1 {
		return list[0]
	}
	return v
}

// unpredicted undoes a predictor of PNG (7.4.4.4), the only one that tables of objects have.
func unpredicted(data []byte, parms dict) []byte {
	predictor, _ := parms["Predictor"].(int64)
	if predictor < 2 {
		return data
	}
	columns, _ := parms["Columns"].(int64)
	if predictor < 10 || columns < 1 || columns > 64 || parms["Colors"] != nil && parms["Colors"] != int64(1) {
		return nil
	}
	above := make([]byte, columns)
	plain := make([]byte, 0, len(data))
	for row := int(columns) + 1; len(data) >= row; data = data[row:] {
		line := data[1:row]
		var left, corner byte
		for i, up := range above {
			switch data[0] {
			case 0:
			case 1:
				line[i] += left
			case 2:
				line[i] += up
			case 3:
				line[i] += byte((int(left) + int(up)) / 2) //nolint:gosec // the mean of two bytes is one
			case 4:
				line[i] += paeth(left, up, corner)
			default:
				return nil
			}
			left, corner = line[i], up
		}
		plain, above = append(plain, line...), line
	}
	return plain
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
