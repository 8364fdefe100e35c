package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// answer is what an operation answers, before a fault has its way with it.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	chunked bool // no Content-Length
}

// object is a JSON object that takes unknown fields.
type object map[string]any

// loose is a JSON array of objects that Singles and NullEntries are about.
type loose []any

// json answers v, shaped as the configuration says.
func (c *call) json(v any) answer {
	body, err := json.Marshal(c.cfg.shape(v))
	if err != nil {
		return c.refuse(http.StatusInternalServerError, err.Error())
	}
	if c.cfg.BOM {
		body = append([]byte("\ufeff"), body...)
	}
	kind := c.cfg.JSONType
	if kind == "" {
		kind = "application/json;charset=UTF-8"
	}
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {kind}}, body: body}
}

// shape applies the knobs that are about all of JSON.
func (cfg Config) shape(v any) any {
	switch v := v.(type) {
	case object:
		out := maps.Clone(v)
		for key, value := range out {
			value = cfg.shape(value)
			if id, ok := value.(int64); ok && isID(key) {
				value = id - cfg.LowIDs
				if cfg.StringIDs {
					value = fmt.Sprint(value)
				}
			}
			out[key] = value
		}
		if cfg.ExtraFields {
			out["x-unknown"] = map[string]any{"id": "none", "name": []any{nil, 1.5e300}, "folders": "many"}
			out["Name"] = nil // differs from a known field in case only
		}
		return out
	case loose:
		if cfg.Singles && len(v) == 1 {
			return cfg.shape(v[0])
		}
		out := cfg.shape([]any(v)).([]any)
		if cfg.NullEntries {
			out = append(out, nil)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cfg.shape(v[i])
		}
		return out
	}
	return v
}

func isID(key string) bool {
	return key == "id" || strings.HasSuffix(key, "-id") || strings.HasSuffix(key, "Id") && key != "externalId"
}

// value returns s, or the number that it looks like where the configuration says so.
func (cfg Config) value(s string) any {
	var n json.Number
	if cfg.Numbers && s != "" && strings.Trim(s, "0123456789.-") == "" && json.Unmarshal([]byte(s), &n) == nil {
		return n
	}
	return s
}

// done answers a successful change with a body, which may be empty.
func (c *call) done(a answer) answer {
	switch {
	case c.cfg.WriteStatus == http.StatusNoContent:
		return answer{status: http.StatusNoContent, header: http.Header{}}
	case c.cfg.WriteStatus != 0:
		a.status = c.cfg.WriteStatus
	}
	return a
}

// plain answers text.
func plain(status int, text string) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"text/plain;charset=UTF-8"}}, body: []byte(text)}
}

// empty answers a status alone.
func empty(status int) answer { return answer{status: status, header: http.Header{}} }

// refuse answers an error in the shape that the configuration says.
func (c *call) refuse(status int, why string) answer {
	a := plain(status, why)
	typed := func(kind string, v any) {
		if v != nil {
			a.body, _ = json.Marshal(v) // maps of strings and an integer cannot fail
		}
		a.header.Set("Content-Type", kind)
	}
	switch c.cfg.Errors {
	case ErrorProblem:
		typed("application/problem+json", map[string]any{"title": http.StatusText(status), "status": status, "detail": why})
	case ErrorMessage:
		typed("application/json", map[string]any{"message": why})
	case ErrorField:
		typed("application/json", map[string]any{"error": why})
	case ErrorHTML:
		typed("text/html", nil)
		a.body = fmt.Appendf(nil, "<html><head><title>%d</title></head><body><h1>%s</h1></body></html>", status, why)
	case ErrorEmpty:
		return empty(status)
	case ErrorHuge:
		a.body = slices.Repeat([]byte("much ado "), 1<<20/9)
	case ErrorControl:
		a.body = []byte("\x1b]0;title\a\x1b[2J\r\nforged line \u202eeil\u2066 \x00\x9b31m " + why)
	case ErrorEcho:
		h := c.r.Header
		user, password, _ := c.r.BasicAuth()
		a.body = fmt.Appendf(nil, "not allowed: key %s, cloud %s, %s, %s:%s",
			h.Get("API-Key"), h.Get("Cloud-ID"), h.Get("Authorization"), user, password)
	case ErrorMistyped:
		typed("application/json", nil)
		a.body = []byte(`{"message": "` + why)
	}
	return a
}
