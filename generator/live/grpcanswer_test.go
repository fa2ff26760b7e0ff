package live

import (
	"context"
	"maps"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// healthCheck is a Check whose answers come from a function.
type healthCheck struct {
	healthpb.UnimplementedHealthServer
	answer func(context.Context) error
	seen   atomic.Int64
}

func (h *healthCheck) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	h.seen.Add(1)
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, h.answer(ctx)
}

// checkCall is a request for it.
var checkCall = Request{
	Method: "POST", Path: "/grpc.health.v1.Health/Check", Body: make([]byte, 5), GRPC: true,
	Header: http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}},
}

func TestGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(context.Context) error
		good   uint64
		by     map[string]uint64 // rejected or failed
	}{
		"ok": {answer: func(context.Context) error { return nil }, good: 10},
		"deadline": {answer: func(ctx context.Context) error {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) > 5*time.Second {
				return status.Error(codes.Internal, "no deadline")
			}
			return nil
		}, good: 10},
		"exhausted":   {answer: func(context.Context) error { return status.Error(codes.ResourceExhausted, "shed: queue full") }, by: map[string]uint64{"shed:_queue_full": 10}},
		"unavailable": {answer: func(context.Context) error { return status.Error(codes.Unavailable, "at 10.0.0.1") }, by: map[string]uint64{"grpc_unavailable": 10}},
		"failed":      {answer: func(context.Context) error { return status.Error(codes.Internal, "oops") }, by: map[string]uint64{"grpc_internal": 10}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			check := &healthCheck{answer: c.answer}
			s := grpc.NewServer()
			healthpb.RegisterHealthServer(s, check)
			go s.Serve(l)
			t.Cleanup(s.Stop)
			r := trip{
				url: "http://" + l.Addr().String(), rate: 100, length: 100 * time.Millisecond,
				options: Options{Engine: H2, Requests: []Request{checkCall}},
			}.run(t)
			by := r.tally.RejectedBy
			if name == "failed" {
				by = r.tally.FailedBy
			}
			if r.tally.Good != c.good || c.by != nil && !maps.Equal(by, c.by) || check.seen.Load() != 10 {
				t.Errorf("good %d, rejected by %v, failed by %v, %d seen: want %d and %v", r.tally.Good, r.tally.RejectedBy, r.tally.FailedBy, check.seen.Load(), c.good, c.by)
			}
		})
	}
}

// HTTP may say 200 and mean nothing.
func TestGRPCFaults(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(f *frames, id uint32)
		want   string
	}{
		"no status":  {func(f *frames, id uint32) { f.head(id, false, "200"); f.WriteData(id, true, make([]byte, 5)) }, NoGRPCStatus},
		"no message": {func(f *frames, id uint32) { f.head(id, false, "200"); f.head(id, true, "", "grpc-status=0") }, BadMessage},
		"cut off": {func(f *frames, id uint32) {
			f.head(id, false, "200")
			f.WriteData(id, false, []byte{0, 0, 0, 0, 9, 1})
			f.head(id, true, "", "grpc-status=0")
		}, BadMessage},
		"compressed": {func(f *frames, id uint32) {
			f.head(id, false, "200")
			f.WriteData(id, false, []byte{1, 0, 0, 0, 1, 1})
			f.head(id, true, "", "grpc-status=0")
		}, BadMessage},
		"late error": {func(f *frames, id uint32) {
			f.head(id, false, "200")
			f.WriteData(id, false, make([]byte, 5))
			f.head(id, true, "", "grpc-status=13")
		}, "grpc_internal"},
		"a page":    {func(f *frames, id uint32) { f.head(id, true, "502") }, "status_502"},
		"no number": {func(f *frames, id uint32) { f.head(id, true, "200", "grpc-status=x") }, NoGRPCStatus},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveFrames(t, 0, func(f *frames) {
				for id := f.request(); id != 0; id = f.request() {
					c.answer(f, id)
				}
			})
			r := trip{
				url: s.url, rate: 50, length: 100 * time.Millisecond,
				options: Options{Engine: H2, Requests: []Request{checkCall}},
			}.run(t)
			if want := map[string]uint64{c.want: 5}; !maps.Equal(r.tally.FailedBy, want) {
				t.Errorf("failed by %v, good %d, rejected by %v: want %v", r.tally.FailedBy, r.tally.Good, r.tally.RejectedBy, want)
			}
		})
	}
}

func TestGRPCPushback(t *testing.T) {
	for value, want := range map[string]struct {
		wait  time.Duration
		never bool
	}{
		"1500": {wait: 1500 * time.Millisecond}, "0": {}, "-1": {never: true}, "soon": {never: true}, "": {never: true},
	} {
		if wait, never := grpcPushback([]byte(value)); wait != want.wait || never != want.never {
			t.Errorf("%q: %v, %v: want %v, %v", value, wait, never, want.wait, want.never)
		}
	}
	var j judge
	got := j.answer(200, httpFields{"Grpc-Status": {"14"}, "Grpc-Retry-Pushback-Ms": {"20"}}, nil)
	if got.RetryAfter != 20*time.Millisecond || got.NoRetry {
		t.Errorf("%+v: want 20ms", got)
	}
}

func TestDecodeMessage(t *testing.T) {
	for message, want := range map[string]string{
		"": "", "plain": "plain", "shed%3A%20queue_full": "shed: queue_full", "%e2%82%ac": "€", "100%": "100%", "%zz%4": "%zz%4",
	} {
		if got := string(decodeMessage([]byte(message))); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
