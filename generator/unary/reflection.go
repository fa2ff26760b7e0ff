package unary

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// ErrNoReflection says that a server does not describe its services.
var ErrNoReflection = errors.New("the server does not offer reflection")

// The names under which servers offer reflection. The older one has the same
// messages.
const (
	reflectionV1      = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	reflectionV1Alpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
)

// FromReflection asks a server for what it says of a service. It returns
// ErrNoReflection when the server does not do so.
func FromReflection(ctx context.Context, conn grpc.ClientConnInterface, service string) (Files, error) {
	for _, method := range []string{reflectionV1, reflectionV1Alpha} {
		files, err := reflected(ctx, conn, method, service)
		if status.Code(err) == codes.Unimplemented {
			continue
		}
		return files, err
	}
	return nil, ErrNoReflection
}

// reflected asks by one of the two names.
func reflected(ctx context.Context, conn grpc.ClientConnInterface, method, service string) (Files, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	a := asking{stream: stream, files: map[string]*descriptorpb.FileDescriptorProto{}}
	err = a.ask(&v1.ServerReflectionRequest{MessageRequest: &v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service}})
	if status.Code(err) == codes.NotFound {
		return nil, a.noService(service)
	}
	if err == nil {
		err = a.imports()
	}
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range a.files {
		set.File = append(set.File, f)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("what the server says of %s: %w", service, err)
	}
	return registry{files}, nil
}

// asking is a conversation with a server.
type asking struct {
	stream grpc.ClientStream
	files  map[string]*descriptorpb.FileDescriptorProto
}

// exchange sends a request and returns the answer to it.
func (a *asking) exchange(r *v1.ServerReflectionRequest) (*v1.ServerReflectionResponse, error) {
	if err := a.stream.SendMsg(r); err != nil {
		// The reason is what comes back.
		if err := a.stream.RecvMsg(&v1.ServerReflectionResponse{}); err != nil {
			return nil, err
		}
		return nil, err
	}
	answer := &v1.ServerReflectionResponse{}
	if err := a.stream.RecvMsg(answer); err != nil {
		return nil, err
	}
	if failed := answer.GetErrorResponse(); failed != nil {
		return nil, status.Error(codes.Code(failed.ErrorCode), failed.ErrorMessage)
	}
	return answer, nil
}

// ask keeps the files that answer a request.
func (a *asking) ask(r *v1.ServerReflectionRequest) error {
	answer, err := a.exchange(r)
	if err != nil {
		return err
	}
	for _, raw := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(raw, f); err != nil {
			return fmt.Errorf("what the server says cannot be read: %w", err)
		}
		a.files[f.GetName()] = f
	}
	return nil
}

// imports asks for what is still missing.
func (a *asking) imports() error {
	for {
		missing := a.missing()
		if missing == "" {
			return nil
		}
		err := a.ask(&v1.ServerReflectionRequest{MessageRequest: &v1.ServerReflectionRequest_FileByFilename{FileByFilename: missing}})
		if err != nil {
			return fmt.Errorf("file %s: %w", missing, err)
		}
		if a.files[missing] == nil {
			return fmt.Errorf("the server names a file %s and does not show it", missing)
		}
	}
}

// missing returns a file that is imported and not there; "" when there is none.
func (a *asking) missing() string {
	for _, f := range a.files {
		for _, name := range f.Dependency {
			if a.files[name] == nil {
				return name
			}
		}
	}
	return ""
}

// noService says which services there are instead.
func (a *asking) noService(service string) error {
	answer, err := a.exchange(&v1.ServerReflectionRequest{MessageRequest: &v1.ServerReflectionRequest_ListServices{}})
	if err != nil {
		return fmt.Errorf("the server has no service %s", service)
	}
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return fmt.Errorf("the server has no service %s: there is %s", service, list(names))
}
