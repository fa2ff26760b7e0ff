package analysis

import "knee/generator/record"

// Topology is what the servers of a run counted, layer by layer.
type Topology = record.Topology
