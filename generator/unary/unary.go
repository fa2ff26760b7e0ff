// Package unary prepares unary calls of gRPC: it finds out what a method takes,
// from .proto files, from compiled ones or by asking the server, and turns JSON
// into the bytes that a call sends.
package unary

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A Method is a unary method of a service.
type Method struct {
	descriptor protoreflect.MethodDescriptor
	types      *dynamicpb.Types // of what an Any in a message can hold
}

// Split returns service and method of a call, given as package.Service/Method or
// package.Service.Method.
func Split(call string) (service, method string, err error) {
	call = strings.TrimPrefix(call, "/")
	at := strings.LastIndexByte(call, '/')
	if at < 0 {
		at = strings.LastIndexByte(call, '.')
	}
	if at <= 0 || at == len(call)-1 || strings.ContainsAny(call, " \t") || !protoreflect.FullName(call[:at]).IsValid() {
		return "", "", fmt.Errorf("call %q: want package.Service/Method", call)
	}
	return call[:at], call[at+1:], nil
}

// Files are descriptors of .proto files, as a source gives them.
type Files interface {
	FindDescriptorByName(protoreflect.FullName) (protoreflect.Descriptor, error)
	services() []string
	types() *dynamicpb.Types
}

// Find returns the method of a call. Its errors name what there is.
func Find(files Files, call string) (*Method, error) {
	service, name, err := Split(call)
	if err != nil {
		return nil, err
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(service))
	s, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return nil, fmt.Errorf("call %q: no service %s: there is %s", call, service, list(files.services()))
	}
	m := s.Methods().ByName(protoreflect.Name(name))
	if m == nil {
		var names []string
		for i := range s.Methods().Len() {
			names = append(names, string(s.Methods().Get(i).Name()))
		}
		return nil, fmt.Errorf("call %q: %s has no method %s: there is %s", call, service, name, list(names))
	}
	if m.IsStreamingClient() || m.IsStreamingServer() {
		return nil, fmt.Errorf("call %q: %s streams: want a method with one request and one answer", call, name)
	}
	return &Method{descriptor: m, types: files.types()}, nil
}

// list joins names for an error.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// Path returns the path of the method's requests.
func (m *Method) Path() string {
	return "/" + string(m.descriptor.Parent().FullName()) + "/" + string(m.descriptor.Name())
}

// Bodies returns the body of each message in data: one object, or an array of
// them, in the JSON of protocol buffers. Empty data is one message without fields.
func (m *Method) Bodies(data []byte) ([][]byte, error) {
	trimmed := bytes.TrimSpace(data)
	var messages []json.RawMessage
	switch {
	case len(trimmed) == 0:
		messages = []json.RawMessage{json.RawMessage("{}")}
	case trimmed[0] == '[':
		if err := json.Unmarshal(trimmed, &messages); err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		if len(messages) == 0 {
			return nil, errors.New("data: an array without messages: want at least one")
		}
	default:
		messages = []json.RawMessage{trimmed}
	}
	bodies := make([][]byte, len(messages))
	for i, text := range messages {
		message := dynamicpb.NewMessage(m.descriptor.Input())
		if err := (protojson.UnmarshalOptions{Resolver: m.types}).Unmarshal(text, message); err != nil {
			// protojson varies the space in its errors on purpose.
			reason := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "proto:"), "\u00a0", " ")
			return nil, fmt.Errorf("data, message %d: %s: want %s", i+1, strings.TrimSpace(reason), m.descriptor.Input().FullName())
		}
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			return nil, fmt.Errorf("data, message %d: %w", i+1, err)
		}
		bodies[i] = Frame(raw)
	}
	return bodies, nil
}

// Binary returns the body of a message that is already encoded. It returns an
// error when it is not one that the method takes.
func (m *Method) Binary(raw []byte) ([]byte, error) {
	if err := proto.Unmarshal(raw, dynamicpb.NewMessage(m.descriptor.Input())); err != nil {
		return nil, fmt.Errorf("data: not an encoded %s", m.descriptor.Input().FullName())
	}
	return Frame(raw), nil
}

// Frame returns a message as it stands in a body: not compressed, with its length
// before it.
func Frame(message []byte) []byte {
	b := make([]byte, 5, 5+len(message))
	binary.BigEndian.PutUint32(b[1:], uint32(len(message)))
	return append(b, message...)
}
