package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// maxBody is the largest request body that is read, in bytes. A larger one is
// malformed.
const maxBody = 1 << 20

// signingKey is no secret: what counts is the work of checking a signature.
var signingKey = []byte("knee reference server")

// Sample is the body that the late stage works on when a request brings none,
// so that it costs the same under every generator: about 600 bytes of JSON.
var Sample = sample()

func sample() []byte {
	var o purchase
	o.ID, o.Customer, o.Note = "8c2f1f0e-5d5b-4a51-9a57-2d9f5a3c7b10", "customer-000042", strings.Repeat("leave it with the neighbour. ", 4)
	for i := range 8 {
		o.Lines = append(o.Lines, purchaseLine{SKU: fmt.Sprintf("SKU-%05d", i*7919), Count: i + 1, Price: 9.99 + float64(i)})
	}
	body, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("serve: encoding the sample: %v", err))
	}
	return body
}

// purchase is what a body is decoded into; unknown fields are skipped.
type purchase struct {
	ID       string         `json:"id"`
	Customer string         `json:"customer"`
	Note     string         `json:"note"`
	Lines    []purchaseLine `json:"lines"`
}

type purchaseLine struct {
	SKU   string  `json:"sku"`
	Count int     `json:"count"`
	Price float64 `json:"price"`
}

// Sign returns the value of a Knee-Signature header for body.
func Sign(body []byte) string { return hex.EncodeToString(mac(body)) }

func mac(body []byte) []byte {
	h := hmac.New(sha256.New, signingKey)
	h.Write(body)
	return h.Sum(nil)
}

// prepare does with a body what a server does before it gets to the point: it
// decodes the JSON, checks the HMAC-SHA256 and formats a log line, which goes
// nowhere. A body or signature that is wrong is counted and changes nothing
// else: the server is here to be loaded. An empty signature is not checked
// against, only computed.
func (s *Server) prepare(body []byte, signature string) {
	if len(body) == 0 {
		body = Sample
	}
	var o purchase
	ok := json.Unmarshal(body, &o) == nil
	sum := mac(body)
	if signature != "" {
		given, err := hex.DecodeString(signature)
		ok = ok && err == nil && hmac.Equal(given, sum)
	}
	fmt.Fprintf(io.Discard, "time=%s id=%q customer=%q lines=%d bytes=%d mac=%x ok=%t\n",
		s.now(), o.ID, o.Customer, len(o.Lines), len(body), sum[:4], ok)
	s.prepared.Add(1)
	if !ok {
		s.badBodies.Add(1)
	}
}
