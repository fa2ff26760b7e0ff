package order

// keeper is the Keeper of an order with the knob sweep.
type keeper struct{ sweep bool }

func (k keeper) Sweep() bool { return k.sweep }

// plainKnobs are the knobs of an order that has no others.
type plainKnobs struct {
	Sweep bool `yaml:"sweep" doc:"take out of the queue, at once, what can no longer be served in time; false leaves it there until its turn comes; default true"`
}
