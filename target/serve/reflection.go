package serve

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// workFile is work.proto, compiled.
var workFile = func() protoreflect.FileDescriptor {
	field := func(name string, kind descriptorpb.FieldDescriptorProto_Type) []*descriptorpb.FieldDescriptorProto {
		return []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String(name), JsonName: proto.String(name), Number: proto.Int32(1),
			Type: kind.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("knee/v1/work.proto"), Package: proto.String("knee.v1"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Job"), Field: field("payload", descriptorpb.FieldDescriptorProto_TYPE_BYTES)},
			{Name: proto.String("Done"), Field: field("degraded", descriptorpb.FieldDescriptorProto_TYPE_BOOL)},
		},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: proto.String("Work"),
			Method: []*descriptorpb.MethodDescriptorProto{{
				Name: proto.String("Do"), InputType: proto.String(".knee.v1.Job"), OutputType: proto.String(".knee.v1.Done"),
			}},
		}},
	}, nil)
	if err != nil {
		panic(fmt.Sprintf("serve: work.proto: %v", err))
	}
	return file
}()

// described are the services that the server says it has.
type described struct{ *grpc.Server }

func (d described) GetServiceInfo() map[string]grpc.ServiceInfo {
	all := d.Server.GetServiceInfo()
	all[string(workFile.Services().Get(0).FullName())] = grpc.ServiceInfo{Metadata: workFile.Path()}
	return all
}

// describing finds what is declared in work.proto or by grpc-go itself.
type describing struct{}

func (describing) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if path == workFile.Path() {
		return workFile, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (describing) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	for _, d := range []protoreflect.Descriptor{
		workFile.Services().ByName(name.Name()), workFile.Messages().ByName(name.Name()),
	} {
		if d != nil && d.FullName() == name {
			return d, nil
		}
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

// newGRPC returns what answers the calls that are not load: reflection and health
// checks, which like those of orchestrators are answered whatever the load.
func newGRPC() *grpc.Server {
	s := grpc.NewServer()
	o := reflection.ServerOptions{Services: described{s}, DescriptorResolver: describing{}}
	reflectionv1.RegisterServerReflectionServer(s, reflection.NewServerV1(o))
	reflectionv1alpha.RegisterServerReflectionServer(s, reflection.NewServer(o))
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	return s
}
