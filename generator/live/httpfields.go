package live

import (
	"net/http"
	"slices"
)

// httpFields are the header fields of an answer that net/http has read.
type httpFields http.Header

func (h httpFields) get(name string) []byte {
	if values := h[name]; len(values) > 0 {
		return []byte(values[0])
	}
	return nil
}

func (h httpFields) has(name string) bool { return len(h[name]) > 0 }

func (h httpFields) holds(name, value string) bool { return slices.Contains(h[name], value) }
