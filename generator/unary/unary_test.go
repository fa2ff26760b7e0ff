package unary

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	v1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const shop = `syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "item.proto";
service Shop {
  rpc Buy(Order) returns (Order);
  rpc Watch(Order) returns (stream Order);
}
message Order { string who = 1; repeated Item items = 2; google.protobuf.Timestamp at = 3; }
`

const item = `syntax = "proto3";
package shop.v1;
message Item { string name = 1; int32 count = 2; }
`

// folder returns a folder with the two files.
func folder(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{"shop.proto": shop, "item.proto": item, "bad.proto": "syntax = \"proto3\";\nmessage {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func compiled(t *testing.T) Files {
	files, err := FromProto(t.Context(), "shop.proto", []string{folder(t)})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestBodies(t *testing.T) {
	m, err := Find(compiled(t), "shop.v1.Shop/Buy")
	if err != nil {
		t.Fatal(err)
	}
	if m.Path() != "/shop.v1.Shop/Buy" {
		t.Errorf("path %s", m.Path())
	}
	bodies, err := m.Bodies([]byte(` [{"who": "a", "items": [{"name": "b", "count": 300}]}, {}] `))
	if err != nil {
		t.Fatal(err)
	}
	want := "\x00\x00\x00\x00\x0b" + "\x0a\x01a" + "\x12\x06" + "\x0a\x01b\x10\xac\x02"
	if len(bodies) != 2 || string(bodies[0]) != want || string(bodies[1]) != "\x00\x00\x00\x00\x00" {
		t.Errorf("bodies %q, want %q and one that is empty", bodies, want)
	}
	if bodies, err := m.Bodies(nil); err != nil || len(bodies) != 1 || !bytes.Equal(bodies[0], make([]byte, 5)) {
		t.Errorf("without data: %q, %v: want one empty message", bodies, err)
	}
	if b, err := m.Binary([]byte("\x0a\x01a")); err != nil || string(b) != "\x00\x00\x00\x00\x03\x0a\x01a" {
		t.Errorf("encoded: %q, %v", b, err)
	}
	for data, want := range map[string]string{
		`{"whom": "a"}`:    `data, message 1: .*unknown field "whom".*: want shop.v1.Order`,
		`[{}, {"who": 1}]`: `data, message 2: .*: want shop.v1.Order`,
		`[]`:               "without messages",
		`[{]`:              "data: ",
		`nonsense`:         "data, message 1: ",
	} {
		_, err := m.Bodies([]byte(data))
		if first, last, _ := strings.Cut(want, ".*"); err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), last[strings.LastIndex(last, "*")+1:]) {
			t.Errorf("%s: %v: want %s", data, err, want)
		}
	}
	if _, err := m.Binary([]byte("\xff")); err == nil {
		t.Error("garbage was taken for a message")
	}
}

func TestFind(t *testing.T) {
	files := compiled(t)
	if m, err := Find(files, "/shop.v1.Shop.Buy"); err != nil || m.Path() != "/shop.v1.Shop/Buy" {
		t.Errorf("with a dot: %v", err)
	}
	for call, want := range map[string]string{
		"Buy":                "want package.Service/Method",
		"shop.v1.Shop/":      "want package.Service/Method",
		"":                   "want package.Service/Method",
		"shop v1/Buy":        "want package.Service/Method",
		"shop.v1.Store/Buy":  "no service shop.v1.Store: there is shop.v1.Shop",
		"shop.v1.Order/Buy":  "no service shop.v1.Order",
		"shop.v1.Shop/Sell":  "no method Sell: there is Buy, Watch",
		"shop.v1.Shop/Watch": "Watch streams",
	} {
		if _, err := Find(files, call); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v: want %q", call, err, want)
		}
	}
}

func TestFromProtoSaysWhere(t *testing.T) {
	_, err := FromProto(t.Context(), "bad.proto", []string{folder(t)})
	if err == nil || !strings.Contains(err.Error(), "bad.proto:2:9") {
		t.Errorf("%v: want the place", err)
	}
	if _, err := FromProto(t.Context(), "none.proto", nil); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestFromProtoset(t *testing.T) {
	r := compiled(t).(registry)
	set := &descriptorpb.FileDescriptorSet{}
	for _, name := range []string{"google/protobuf/timestamp.proto", "item.proto", "shop.proto"} {
		f, err := r.FindFileByPath(name)
		if err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	raw, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "shop.protoset")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := FromProtoset(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Find(files, "shop.v1.Shop/Buy")
	if err != nil {
		t.Fatal(err)
	}
	at, err := proto.Marshal(&timestamppb.Timestamp{Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := m.Bodies([]byte(`{"at": "1970-01-01T00:00:01Z"}`))
	if want := Frame(append([]byte{0x1a, byte(len(at))}, at...)); err != nil || !bytes.Equal(bodies[0], want) {
		t.Errorf("%q, %v: want %q", bodies, err, want)
	}
	if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := FromProtoset(file); err == nil || !strings.Contains(err.Error(), "protoc --include_imports") {
		t.Errorf("%v: want it to say what is wanted", err)
	}
}

// dial starts a server of grpc-go and connects to it.
func dial(t *testing.T, register func(*grpc.Server)) *grpc.ClientConn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestFromReflection(t *testing.T) {
	for name, register := range map[string]func(*grpc.Server){
		"v1": func(s *grpc.Server) { reflection.RegisterV1(s) },
		"v1alpha": func(s *grpc.Server) {
			v1alpha.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s}))
		},
		"both": func(s *grpc.Server) { reflection.Register(s) },
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, func(s *grpc.Server) {
				healthpb.RegisterHealthServer(s, health.NewServer())
				register(s)
			})
			files, err := FromReflection(t.Context(), conn, "grpc.health.v1.Health")
			if err != nil {
				t.Fatal(err)
			}
			m, err := Find(files, "grpc.health.v1.Health/Check")
			if err != nil {
				t.Fatal(err)
			}
			want, err := proto.Marshal(&healthpb.HealthCheckRequest{Service: "a"})
			if err != nil {
				t.Fatal(err)
			}
			if bodies, err := m.Bodies([]byte(`{"service": "a"}`)); err != nil || !bytes.Equal(bodies[0], Frame(want)) {
				t.Errorf("%q, %v: want %q", bodies, err, Frame(want))
			}
			_, err = FromReflection(t.Context(), conn, "no.Such")
			if err == nil || !strings.Contains(err.Error(), "no service no.Such: there is grpc.health.v1.Health") {
				t.Errorf("%v: want it to say what there is", err)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		conn := dial(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, health.NewServer()) })
		if _, err := FromReflection(t.Context(), conn, "grpc.health.v1.Health"); !errors.Is(err, ErrNoReflection) {
			t.Errorf("%v: want %v", err, ErrNoReflection)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		conn := dial(t, func(s *grpc.Server) { s.Stop() })
		if _, err := FromReflection(context.Background(), conn, "a.B"); err == nil || errors.Is(err, ErrNoReflection) {
			t.Errorf("%v: want that nobody answers", err)
		}
	})
}
