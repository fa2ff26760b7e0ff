package unary

import (
	"context"
	"fmt"
	"os"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// registry is a set of descriptors.
type registry struct{ *protoregistry.Files }

func (r registry) services() []string {
	var names []string
	r.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			names = append(names, string(f.Services().Get(i).FullName()))
		}
		return true
	})
	return names
}

func (r registry) types() *dynamicpb.Types { return dynamicpb.NewTypes(r.Files) }

// FromProto compiles a .proto file. It and what it imports are looked for in paths;
// without any, in the current folder. Errors name file, line and column.
func FromProto(ctx context.Context, file string, paths []string) (Files, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: paths}),
	}
	compiled, err := compiler.Compile(ctx, file)
	if err != nil {
		return nil, err
	}
	r := registry{&protoregistry.Files{}}
	for _, f := range compiled {
		if err := r.add(f); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// add adds a file and what it imports.
func (r registry) add(f protoreflect.FileDescriptor) error {
	if _, err := r.FindFileByPath(f.Path()); err == nil {
		return nil
	}
	for i := range f.Imports().Len() {
		if err := r.add(f.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return r.RegisterFile(f)
}

// FromProtoset reads a file of compiled descriptors, such as
// protoc --include_imports --descriptor_set_out writes.
func FromProtoset(file string) (Files, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, set); err != nil {
		return nil, fmt.Errorf("%s: not a set of descriptors: want what protoc --include_imports --descriptor_set_out writes", file)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return registry{files}, nil
}
