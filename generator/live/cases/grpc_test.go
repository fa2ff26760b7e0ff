package cases

import (
	"net/http"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"knee/generator/live"
	"knee/generator/unary"
)

// healthCheck is a unary call that every server of gRPC knows.
func healthCheck(t *testing.T) []live.Request {
	t.Helper()
	message, err := proto.Marshal(&healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return []live.Request{{
		Method: "POST", Path: healthpb.Health_Check_FullMethodName, Body: unary.Frame(message), GRPC: true,
		Header: http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}},
	}}
}
