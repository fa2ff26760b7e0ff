package serve

import (
	"strings"
	"testing"
	"testing/synctest"
)

func TestMetricsSayWhatTheCountsSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &gate{open: 1}, func(c *Config) { c.Classes = []Class{{Name: "browse", Tenant: "a"}}; faulty(c) })
		ask(s, map[string]string{"Knee-Cost": "none"})
		ask(s, nil)
		mustInject(t, s, stall)
		w := control(s, "Bearer secret", "GET", "/metrics", "")
		for _, line := range []string{
			"knee_server_requests_arrived_total 2",
			"knee_server_requests_served_total 1",
			`knee_server_requests_refused_total{reason="closed"} 1`,
			`knee_server_requests_class_arrived_total{class="browse"} 2`,
			`knee_server_requests_class_rejected_total{class="browse",reason="closed"} 1`,
			`knee_server_requests_tenant_served_total{tenant="a"} 1`,
			"knee_server_bad_headers_total 1",
			"knee_server_queue_length 0",
			"knee_server_queue_oldest_seconds 0",
			"knee_server_running 0",
			"knee_server_workers 1",
			"knee_server_queue_peak 1",
			"knee_server_inflight_limit 0",
			`knee_server_requests_class_failed_total{class="browse"} 0`,
			`knee_server_fault{kind="stall"} 1`,
		} {
			if !strings.Contains(w.Body.String(), line+"\n") {
				t.Errorf("no line %q in\n%s", line, w.Body)
			}
		}
		if w := control(s, "", "GET", "/metrics", ""); w.Code != 401 {
			t.Errorf("without the token: status %d", w.Code)
		}
	})
}
