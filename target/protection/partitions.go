package protection

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/target/plugin"
)

// PartitionKnobs share a limit out. They are part of the knobs of every limit on
// the requests inside.
type PartitionKnobs struct {
	Partitions  map[string]float64 `yaml:"partitions" doc:"shares of the limit by name, such as {live: 0.9, batch: 0.1}; each above 0, up to 1, together at most 1; one that is not named has only what the others leave; empty: no partitions"`
	PartitionBy string             `yaml:"partition_by" doc:"what the names are: of a tenant, a class or a criticality"`
	Strict      bool               `yaml:"strict" doc:"keep what a partition does not use free for it, so that all together never exceed the limit; otherwise a partition may use what is free, and one that comes late gets its share on top"`
}

// byTenant is the default of PartitionBy.
const byTenant = "tenant"

// unshared are the knobs without partitions.
var unshared = PartitionKnobs{PartitionBy: byTenant}

// A gate lets requests in up to a limit, which may change from one to the next.
//
// With partitions it does as Netflix' concurrency-limits do: each has
// max(1, ceil(limit × share)), and is held to that only while the limit as a
// whole is used up. So ten of a batch that has 0.3 of a limit of ten come in
// while there is nobody else, then seven of the live traffic that has 0.7: 17 in
// all (Netflix/concurrency-limits#233, #234). Strict never lets in more than the
// limit, at the price of leaving some of it unused.
type gate struct {
	by     string
	strict bool
	class  []int // partition by class; partitions[0] is that of all that is not named
	level  [CriticalPlus + 1]int
	tenant map[string]int
	parts  []partition
}

type partition struct {
	share  float64
	inside int
}

// build returns the gate, and all that is wrong with its knobs.
func (k PartitionKnobs) build(s Setup) (*gate, error) {
	g := &gate{by: k.PartitionBy, strict: k.Strict}
	var errs []error
	switch k.PartitionBy {
	case byTenant, "class", "criticality":
	default:
		errs = append(errs, plugin.Knob("partition_by", strconv.Quote(k.PartitionBy), "tenant, class or criticality"))
	}
	total := 0.0
	names := slices.Sorted(maps.Keys(k.Partitions))
	for _, name := range names {
		share := k.Partitions[name]
		if !(share > 0) { // not a number fails too
			errs = append(errs, plugin.Knob("partitions", fmt.Sprintf("{%s: %v}", name, share), "shares above 0"))
		}
		total += share
	}
	if total > 1+1e-9 {
		errs = append(errs, plugin.Knob("partitions", fmt.Sprintf("%v in all", total), "shares that are together at most 1"))
	}
	if len(errs) == 0 && len(names) > 0 {
		errs = append(errs, g.name(s, names, k.Partitions))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return g, nil
}

// criticalities are the names of the levels in a profile.
var criticalities = []string{"sheddable", "sheddable_plus", "critical", "critical_plus"}

// name gives each name its partition.
func (g *gate) name(s Setup, names []string, shares map[string]float64) error {
	known := criticalities
	switch g.by {
	case byTenant:
		g.tenant = map[string]int{}
	case "class":
		known = s.Classes
		g.class = make([]int, len(known))
	}
	g.parts = make([]partition, 1+len(names))
	var errs []error
	for i, name := range names {
		g.parts[i+1].share = shares[name]
		if g.tenant != nil {
			g.tenant[name] = i + 1
			continue
		}
		at := slices.Index(known, name)
		switch {
		case at < 0:
			errs = append(errs, plugin.Knob("partitions", fmt.Sprintf("{%s: …}", name), g.by+" names: "+strings.Join(known, ", ")))
		case g.class != nil:
			g.class[at] = i + 1
		default:
			g.level[at] = i + 1
		}
	}
	return errors.Join(errs...)
}

// of returns the partition of r.
func (g *gate) of(r *Request) *partition {
	i := 0
	switch {
	case g.tenant != nil:
		i = g.tenant[r.Tenant]
	case g.class == nil:
		i = g.level[min(r.Criticality, CriticalPlus)]
	case r.Class < len(g.class):
		i = g.class[r.Class]
	}
	return &g.parts[i]
}

// admit reports whether r, which is not among the inside requests, may come in
// under a limit, and counts it if so.
func (g *gate) admit(r *Request, inside, limit int) bool {
	if len(g.parts) == 0 {
		return inside < limit
	}
	p := g.of(r)
	if g.strict {
		if inside >= limit-g.owed(p, limit) {
			return false
		}
	} else if inside >= limit && p.inside >= p.limit(limit) {
		return false
	}
	p.inside++
	return true
}

// owed is how much of the limit is to be kept free for others if p takes one
// more: nothing while p is within its own share.
func (g *gate) owed(p *partition, limit int) int {
	if p.inside < p.limit(limit) {
		return 0
	}
	owed := 0
	for i := range g.parts {
		q := &g.parts[i] // p itself has nothing left
		owed += max(0, q.limit(limit)-q.inside)
	}
	return owed
}

// limit is the partition's part of a limit; 0 for what is not named.
func (p *partition) limit(all int) int {
	if p.share == 0 {
		return 0
	}
	return max(1, int(math.Ceil(float64(all)*p.share-1e-9)))
}

// leave counts r out.
func (g *gate) leave(r *Request) {
	if len(g.parts) > 0 {
		g.of(r).inside--
	}
}

// Needs names what a request has to say of itself for its partition to be known.
func (g *gate) Needs() string {
	if len(g.parts) == 0 {
		return ""
	}
	return "the " + g.by
}
