package main

import "testing"

func TestTradeSums(t *testing.T) {
	for _, c := range []struct {
		vat             int
		items           []item
		net, tax, gross int
		amount          string
	}{
		{19, []item{{product{cents: 10_000}, 10}}, 100_000, 19_000, 119_000, "1.190,00"},
		{7, []item{{product{cents: 1_050}, 1}, {product{cents: 99}, 3}}, 1_347, 94, 1_441, "14,41"},
		{19, []item{{product{cents: 50}, 1}}, 50, 10, 60, "0,60"}, // 9.5 cents rounded up
	} {
		tr := trade{supplier: supplier{vat: c.vat}, items: c.items}
		if tr.net() != c.net || tr.tax() != c.tax || tr.gross() != c.gross {
			t.Errorf("sums %d, %d, %d, want %d, %d, %d", tr.net(), tr.tax(), tr.gross(), c.net, c.tax, c.gross)
		}
		if got := euro(tr.gross()); got != c.amount {
			t.Errorf("euro(%d) = %q, want %q", tr.gross(), got, c.amount)
		}
	}
}
