package apiclient

import (
	"net/http"
	"slices"
	"testing"
)

func TestWatchSeesEachAnswer(t *testing.T) {
	status := http.StatusUnauthorized
	var seen []int
	c := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"folders":[]}`))
	}, func(cfg *Config) {
		cfg.Watch = func(resp *http.Response) { seen = append(seen, resp.StatusCode) }
	})
	if _, err := c.Children(t.Context(), 0); err == nil {
		t.Error("no error tells of the refusal")
	}
	status = http.StatusOK
	if _, err := c.Children(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if want := []int{http.StatusUnauthorized, http.StatusOK}; !slices.Equal(seen, want) {
		t.Errorf("saw %v, want %v", seen, want)
	}
}
