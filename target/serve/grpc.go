package serve

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"knee/target/server"
	"knee/target/wire"
)

// WorkMethod is the unary call of gRPC that the server answers; see work.proto.
const WorkMethod = "/knee.v1.Work/Do"

// Fields of an answer of gRPC.
const (
	grpcType     = "application/grpc"
	grpcStatus   = "Grpc-Status"
	grpcMessage  = "Grpc-Message"
	grpcPushback = "Grpc-Retry-Pushback-Ms"
)

// Numbers of the fields in work.proto.
const (
	payloadField  protowire.Number = 1
	degradedField protowire.Number = 1
)

// framing is what stands before a message: whether it is compressed, and how long
// it is.
const framing = 5

// isCall reports whether r is a call of gRPC.
func isCall(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), grpcType)
}

// serveCall is the handler and late stages for calls of gRPC. The calls that are
// load are answered here and not by grpc-go, which reads the message before it asks
// anybody: a refusal must cost what the stage says. The rest is its own.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != WorkMethod {
		s.grpc.ServeHTTP(w, r)
		return
	}
	c := s.take()
	defer s.give(c)
	s.readFacts(c, r)
	c.facts.bytes = max(0, c.facts.bytes-framing)
	if s.cfg.ShedAt == Late || r.ContentLength == framing { // or there is nothing to read
		payload, err := readCall(r.Body)
		if err != nil {
			err.answer(w)
			return
		}
		if s.cfg.ShedAt == Late {
			s.prepare(payload, r.Header.Get(wire.Signature))
		}
		s.arrive(c)
		answerCall(w, r, s.await(c))
		return
	}
	if in := s.admit(c); !in {
		answerCall(w, r, <-c.signals)
		return
	}
	payload, err := readCall(r.Body)
	if err != nil {
		s.release(c, ReasonMalformed)
		err.answer(w)
		return
	}
	if len(payload) > 0 {
		s.prepare(payload, r.Header.Get(wire.Signature))
	}
	answerCall(w, r, s.work(c))
}

// A callFault says why a call cannot be read.
type callFault struct {
	code codes.Code
	what string
}

// answer says it to the caller.
func (f *callFault) answer(w http.ResponseWriter) { writeStatus(w.Header(), "", f.code, f.what) }

// readCall reads the message of a unary call and returns its payload.
func readCall(body io.Reader) ([]byte, *callFault) {
	var head [framing]byte
	if _, err := io.ReadFull(body, head[:]); err != nil {
		return nil, &callFault{codes.InvalidArgument, "the message cannot be read"}
	}
	n := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] != 0:
		return nil, &callFault{codes.Unimplemented, "the message is compressed: want it as it is"}
	case n > maxBody:
		return nil, &callFault{codes.InvalidArgument, "the message is too long"}
	}
	message := make([]byte, n)
	if _, err := io.ReadFull(body, message); err != nil {
		return nil, &callFault{codes.InvalidArgument, "the message is cut off"}
	}
	if extra, err := io.CopyN(io.Discard, body, 1); extra > 0 || !errors.Is(err, io.EOF) {
		return nil, &callFault{codes.InvalidArgument, "more than one message: the call is unary"}
	}
	payload, ok := payloadOf(message)
	if !ok {
		return nil, &callFault{codes.InvalidArgument, "the message is no Job"}
	}
	return payload, nil
}

// payloadOf returns the payload of a Job; false when it is none.
func payloadOf(message []byte) (payload []byte, ok bool) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, false
		}
		message = message[n:]
		if number == payloadField && kind == protowire.BytesType {
			if payload, n = protowire.ConsumeBytes(message); n < 0 {
				return nil, false
			}
		} else if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil, false
		}
		message = message[n:]
	}
	return payload, true
}

// okCall and degradedCall are the messages of answers, framed.
var (
	okCall       = framed(nil)
	degradedCall = framed(protowire.AppendVarint(protowire.AppendTag(nil, degradedField, protowire.VarintType), 1))
)

func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// answerCall answers r, which ended as g says. Of a server that is down a caller
// sees a stream that is reset.
func answerCall(w http.ResponseWriter, r *http.Request, g signal) {
	if g.kind == server.Sever {
		io.Copy(io.Discard, io.LimitReader(r.Body, maxSkip))
		panic(http.ErrAbortHandler)
	}
	h, a := w.Header(), &g.answer
	if a.Granted {
		h[wire.Credits] = []string{strconv.Itoa(a.Credits)}
	}
	switch code := g.code(); {
	case code != codes.OK:
		h[wire.Reason] = []string{string(a.Reason)}
		switch {
		case a.NoRetry:
			h[grpcPushback] = []string{"-1"}
		case a.RetryAfter > 0:
			ms := (a.RetryAfter + time.Millisecond - 1) / time.Millisecond
			h[grpcPushback] = []string{strconv.FormatInt(int64(ms), 10)}
		}
		writeStatus(h, "", code, string(a.Reason))
	case a.Degraded:
		h[wire.Degraded] = one
		writeMessage(w, degradedCall)
	default:
		writeMessage(w, okCall)
	}
}

// writeMessage answers with a message, and with OK in the trailers.
func writeMessage(w http.ResponseWriter, message []byte) {
	h := w.Header()
	h["Content-Type"] = []string{grpcType}
	w.Write(message) // a caller that is gone needs none
	writeStatus(h, http.TrailerPrefix, codes.OK, "")
}

// writeStatus puts a status where prefix says: into the trailers, or into the head
// of an answer that has nothing else.
func writeStatus(h http.Header, prefix string, code codes.Code, message string) {
	if prefix == "" {
		h["Content-Type"] = []string{grpcType}
	}
	h[prefix+grpcStatus] = []string{strconv.Itoa(int(code))}
	if message != "" {
		// Percent-encoded more than need be, which every reader undoes.
		h[prefix+grpcMessage] = []string{url.PathEscape(message)}
	}
}

// code returns the status of gRPC of the answer: what 503 and 500 are in HTTP.
func (g *signal) code() codes.Code {
	switch g.kind {
	case server.Refuse:
		return codes.Unavailable
	case server.Fail:
		return codes.Internal
	}
	return codes.OK
}
