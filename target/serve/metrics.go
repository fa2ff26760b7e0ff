package serve

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics returns the counts in the format of Prometheus, from a registry of
// their own.
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{s})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: silent})
}

// Descriptions of what is collected.
var (
	descArrived  = total("arrived_total", "Requests that arrived.")
	descServed   = total("served_total", "Requests that were served.")
	descDegraded = total("degraded_total", "Requests that were served with the cheaper answer.")
	descFailed   = total("failed_total", "Requests that failed, were lost in a crash, or came while the server was down.")
	descRefused  = total("refused_total", "Requests that were refused at arrival.", "reason")
	descDropped  = total("dropped_total", "Requests that were let in and dropped before a worker took them.", "reason")
	descResets   = total("reset_total", "Requests that were inside when the server was reset.")
	descBad      = desc("bad_headers_total", "Header values that could not be read and were ignored.")

	descClassArrived   = total("class_arrived_total", "Requests that arrived, by class.", "class")
	descClassServed    = total("class_served_total", "Requests that were served, by class.", "class")
	descClassDegraded  = total("class_degraded_total", "Requests that were served with the cheaper answer, by class.", "class")
	descClassFailed    = total("class_failed_total", "Requests that failed, by class.", "class")
	descClassRejected  = total("class_rejected_total", "Requests that were refused or dropped, by class.", "class", "reason")
	descTenantArrived  = total("tenant_arrived_total", "Requests that arrived, by tenant.", "tenant")
	descTenantServed   = total("tenant_served_total", "Requests that were served, by tenant.", "tenant")
	descTenantDegraded = total("tenant_degraded_total", "Requests that were served with the cheaper answer, by tenant.", "tenant")
	descTenantFailed   = total("tenant_failed_total", "Requests that failed, by tenant.", "tenant")
	descTenantRejected = total("tenant_rejected_total", "Requests that were refused or dropped, by tenant.", "tenant", "reason")

	descWaiting = desc("queue_length", "Requests that wait for a worker.")
	descPeak    = desc("queue_peak", "Most requests that ever waited at once.")
	descOldest  = desc("queue_oldest_seconds", "Age of the oldest request in the queue.")
	descRunning = desc("running", "Requests that a worker is busy with.")
	descWorkers = desc("workers", "Workers that exist.")
	descLimit   = desc("inflight_limit", "Lowest limit on the requests inside that a protection sets; 0 when none does.")
	descFault   = desc("fault", "Faults that are in the server.", "kind")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("knee_server_"+name, help, labels, nil)
}

// total is desc for a counter of requests.
func total(name, help string, labels ...string) *prometheus.Desc {
	return desc("requests_"+name, help, labels...)
}

// collector reads the counts of a server whenever it is asked.
type collector struct{ s *Server }

// Describe says nothing: reasons and tenants show up as they occur.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	n := c.s.Counts()
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count(descArrived, n.Arrived)
	count(descServed, n.Served)
	count(descDegraded, n.Degraded)
	count(descFailed, n.Failed)
	count(descResets, n.Resets)
	count(descBad, n.BadHeaders)
	for reason, v := range n.Refused {
		count(descRefused, v, reason)
	}
	for reason, v := range n.Dropped {
		count(descDropped, v, reason)
	}
	for name, share := range n.Classes {
		count(descClassArrived, share.Arrived, name)
		count(descClassServed, share.Served, name)
		count(descClassDegraded, share.Degraded, name)
		count(descClassFailed, share.Failed, name)
		for reason, v := range share.Rejected {
			count(descClassRejected, v, name, reason)
		}
	}
	for name, share := range n.Tenants {
		count(descTenantArrived, share.Arrived, name)
		count(descTenantServed, share.Served, name)
		count(descTenantDegraded, share.Degraded, name)
		count(descTenantFailed, share.Failed, name)
		for reason, v := range share.Rejected {
			count(descTenantRejected, v, name, reason)
		}
	}
	gauge(descWaiting, float64(n.Waiting))
	gauge(descOldest, n.OldestMs/1000)
	gauge(descRunning, float64(n.Running))
	gauge(descWorkers, float64(n.Workers))
	gauge(descPeak, float64(n.Peak))
	gauge(descLimit, float64(n.Limit))
	present := map[string]float64{}
	for _, kind := range n.Faults {
		present[kind]++
	}
	for kind, count := range present {
		gauge(descFault, count, kind)
	}
}
