package main

// wrk2 is wrk with a constant rate: https://github.com/giltene/wrk2. It is looked
// for under that name, as its program is called wrk where it is built.
var wrk2 = tool{
	name:   "wrk2",
	closed: func(j job) (command, error) { return wrk2Command(j, wrk2Unreached), nil },
	open:   func(j job) (command, error) { return wrk2Command(j, j.rate), nil },
	parse:  parseWrk,
}

// wrk2Unreached is a rate at which one thread of wrk2 is always behind, and sends
// the next request when the last was answered. At a million it sends hardly any.
const wrk2Unreached = 200_000

func wrk2Command(j job, rate float64) command {
	return command{args: []string{
		"-t1", "-c", number(float64(j.conns)), "-d", j.seconds() + "s", "-R", number(rate), j.url,
	}}
}
