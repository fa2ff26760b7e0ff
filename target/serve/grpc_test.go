package serve

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"knee/target/protection"
	"knee/target/server"
)

// connect returns a client of grpc-go to s.
func connect(t *testing.T, s *Server) *grpc.ClientConn {
	t.Helper()
	addr, _ := listen(t, s, nil)
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// do calls Work/Do and returns how that ended: Done's field, what is in head and
// trailers, and the status.
func do(t *testing.T, conn *grpc.ClientConn, payload string, pairs ...string) (degraded bool, md metadata.MD, s *status.Status) {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), pairs...), time.Minute)
	defer cancel()
	job, done := dynamicpb.NewMessage(workFile.Messages().ByName("Job")), dynamicpb.NewMessage(workFile.Messages().ByName("Done"))
	job.Set(job.Descriptor().Fields().ByName("payload"), protoreflect.ValueOfBytes([]byte(payload)))
	var head, trailer metadata.MD
	err := conn.Invoke(ctx, WorkMethod, job, done, grpc.Header(&head), grpc.Trailer(&trailer))
	return done.Get(done.Descriptor().Fields().ByName("degraded")).Bool(), metadata.Join(head, trailer), status.Convert(err)
}

func TestCallsOfGRPC(t *testing.T) {
	for _, stage := range []Stage{Handler, Late} {
		t.Run(string(stage), func(t *testing.T) {
			g := &gate{open: 2, after: 1500 * time.Microsecond}
			s := newServer(t, g, at(stage))
			conn := connect(t, s)
			if _, _, st := do(t, conn, "", "knee-tenant", "t1", "knee-attempt", "2"); st.Code() != codes.OK {
				t.Errorf("let in: %v", st)
			}
			if _, _, st := do(t, conn, string(Sample)); st.Code() != codes.OK {
				t.Errorf("let in, with a payload: %v", st)
			}
			_, md, st := do(t, conn, string(Sample))
			if st.Code() != codes.Unavailable || st.Message() != "closed" {
				t.Errorf("refused: %v, want Unavailable, closed", st)
			}
			if got := md.Get("knee-reason"); !slices.Equal(got, []string{"closed"}) {
				t.Errorf("reason %q", got)
			}
			if got := md.Get("grpc-retry-pushback-ms"); !slices.Equal(got, []string{"2"}) {
				t.Errorf("pushback %q, want 2, of 1.5 ms", got)
			}
			if r := g.asked[0]; r.Tenant != "t1" || r.Attempt != 2 || r.Deadline == protection.Never {
				t.Errorf("the core saw %+v: want what the metadata say, and the deadline", r)
			}
			prepared := uint64(1) // what was let in with something to read
			if stage == Late {
				prepared = 3
			}
			if n := s.prepared.Load(); n != prepared || s.badBodies.Load() != 0 {
				t.Errorf("%d payloads were prepared, %d bad; want %d, 0", n, s.badBodies.Load(), prepared)
			}
		})
	}
}

// The same core counts, whatever brings a request.
func TestBothFacesShareACore(t *testing.T) {
	s := newServer(t, nil, nil)
	conn := connect(t, s)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, _, st := do(t, conn, ""); st.Code() != codes.OK {
				t.Error(st)
			}
		})
		all.Go(func() {
			if r := ask(s, nil); r.StatusCode != http.StatusOK {
				t.Error(r.Status)
			}
		})
	}
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.core.Counts(); n.Arrived != 20 || n.Served != 20 {
		t.Errorf("%+v, want 20 arrived and served", n)
	}
}

func TestFailingCalls(t *testing.T) {
	s := newServer(t, nil, nil)
	conn := connect(t, s)
	w := httptest.NewRecorder()
	answerCall(w, httptest.NewRequest(http.MethodPost, WorkMethod, nil), signal{kind: server.Fail, answer: protection.Answer{Reason: "fault: 100% ü", NoRetry: true}})
	want := http.Header{
		"Content-Type": {"application/grpc"}, "Grpc-Status": {"13"}, "Grpc-Message": {"fault:%20100%25%20%C3%BC"},
		"Grpc-Retry-Pushback-Ms": {"-1"}, "Knee-Reason": {"fault: 100% ü"},
	}
	if got := w.Result().Header; !reflect.DeepEqual(got, want) {
		t.Errorf("work that fails is %v, want %v", got, want)
	}
	for name, c := range map[string]struct {
		body string
		code codes.Code
	}{
		"nothing":      {"", codes.InvalidArgument},
		"cut off":      {"\x00\x00\x00\x00\x05ab", codes.InvalidArgument},
		"compressed":   {"\x01\x00\x00\x00\x00", codes.Unimplemented},
		"two":          {"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", codes.InvalidArgument},
		"too long":     {"\x00\xff\xff\xff\xff", codes.InvalidArgument},
		"no Job":       {"\x00\x00\x00\x00\x02\x0a\x05", codes.InvalidArgument},
		"other fields": {"\x00\x00\x00\x00\x02\x10\x05", codes.OK},
	} {
		payload, err := readCall(strings.NewReader(c.body))
		if got := codes.OK; err != nil && err.code != c.code || err == nil && c.code != got || len(payload) > 0 {
			t.Errorf("%s: payload %q, %+v; want %v", name, payload, err, c.code)
		}
	}
	// A message that cannot be read takes no place.
	err := conn.Invoke(t.Context(), WorkMethod, []byte{0x0a, 0x05}, &[]byte{}, grpc.ForceCodec(bytesCodec{}))
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("no Job: %v", err)
	}
	if _, _, st := do(t, conn, ""); st.Code() != codes.OK {
		t.Errorf("afterwards: %v", st)
	}
	err = conn.Invoke(t.Context(), "/knee.v1.Work/Undo", []byte{}, &[]byte{}, grpc.ForceCodec(bytesCodec{}))
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that is none: %v", err)
	}
}

// bytesCodec sends bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }
func (bytesCodec) Name() string                       { return "proto" }

func TestServerDescribesItself(t *testing.T) {
	conn := connect(t, newServer(t, &gate{}, nil))
	got, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || got.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health %v, %v: want SERVING, whatever the load", got, err)
	}
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.Name)
	}
	if !slices.Contains(names, "knee.v1.Work") || !slices.Contains(names, "grpc.health.v1.Health") {
		t.Errorf("services %q", names)
	}
}

// What is published is what is served.
func TestWorkProto(t *testing.T) {
	text, err := os.ReadFile("work.proto")
	if err != nil {
		t.Fatal(err)
	}
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{workFile.Path(): string(text)}),
	}}
	files, err := c.Compile(t.Context(), workFile.Path())
	if err != nil {
		t.Fatal(err)
	}
	if want, got := protodesc.ToFileDescriptorProto(files[0]), protodesc.ToFileDescriptorProto(workFile); !proto.Equal(want, got) {
		t.Errorf("compiled\n%v\nserved\n%v", want, got)
	}
}
