package order_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"knee/generator/client"
	"knee/target/order"
	"knee/target/protection"
)

// The overload lesson is a model of one server in ticks. It completes 100
// requests a tick; clients give up 5 ticks after sending and retry once. About
// 80 arrive each tick, and 160 during a spike of 50 ticks. The tests drive
// knee's own orders and protections by it, and hold every figure that the
// lesson prints or asks for.
const (
	lessonTicks    = 300
	lessonCapacity = 100
	lessonPatience = 5 // ticks
	lessonTick     = 100 * time.Millisecond
)

// lessonArrivals returns how many arrive in each tick: Poisson numbers, drawn
// once by the lesson's own generator.
func lessonArrivals(t testing.TB) []int {
	t.Helper()
	text, err := os.ReadFile("testdata/overload_arrivals.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for field := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	if got := hash(strings.Join(strings.Fields(string(text)), ",")); len(all) != lessonTicks || got[:16] != "d8e94d435a7251e2" {
		t.Fatalf("%d arrivals with hash %s", len(all), got)
	}
	return all
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A lesson is one run of the model.
type lesson struct {
	order      string // NAME[:knob=value,…]
	chain      []string
	noRetries  bool
	rejectCost float64   // work that one rejection takes
	throttle   *throttle // of all clients together; nil: none
	sweep      bool      // takes out what has expired when a tick begins, if the order wants it
}

// The lesson's four policies.
var (
	unboundedFIFO = lesson{order: "fifo:sweep=false"}
	deadlineDrop  = lesson{order: "fifo:sweep=false", chain: []string{"deadline:allowance=0s"}}
	adaptiveLIFO  = lesson{order: "adaptive_lifo:length=100,sweep=false"}
	boundedShed   = lesson{order: "fifo:sweep=false", chain: []string{"queue_bound:count=250", "deadline:allowance=0s"}}
)

// lessonResult is what became of a lesson.
type lessonResult struct {
	ticks []lessonCounts
	peak  int
}

type lessonCounts struct{ good, wasted, rejected, sent, local int }

// run plays the lesson.
func (c lesson) run(t testing.TB) lessonResult {
	t.Helper()
	m := model{lesson: c, order: makeOrder(t, c.order)}
	for _, spec := range c.chain {
		m.chain = append(m.chain, makeProtection(t, spec))
	}
	for tick, fresh := range lessonArrivals(t) {
		m.tick(tick, fresh)
	}
	return m.result
}

// model is the state of a lesson. Work takes no time in it, and all that happens
// in a tick happens at one instant.
type model struct {
	lesson
	order   order.Order
	chain   []protection.Protection
	sent    [lessonTicks][]*protection.Request // by tick; what left the queue has Started set
	retries [lessonTicks + 1]int               // due in a tick
	result  lessonResult
}

func (m *model) load(now time.Duration) protection.Load {
	n := m.order.Len()
	return protection.Load{Waiting: n, Admitted: n, Workers: lessonCapacity, QueuedCost: float64(n), LastEmpty: now}
}

func (m *model) tick(tick, fresh int) {
	now := time.Duration(tick) * lessonTick
	var c lessonCounts
	if m.sweep {
		m.sweepAt(now)
	}
	for i := range fresh + m.retries[tick] {
		attempt := 1
		if i >= fresh {
			attempt = 2
		}
		if m.throttle != nil && m.throttle.rejects(now) {
			c.local++
			continue
		}
		c.sent++
		switch r := newLessonRequest(now, attempt); {
		case m.admit(now, r):
			m.order.Push(now, r)
			m.sent[tick] = append(m.sent[tick], r)
			if m.throttle != nil {
				m.throttle.Accept(now)
			}
		default:
			c.rejected++
			m.retry(tick, r)
		}
	}
	m.result.peak = max(m.result.peak, m.order.Len())

	// The lesson looks at the length of the queue once in a tick.
	load := m.load(now)
	for done := m.rejectCost * float64(c.rejected); done+1 <= lessonCapacity+1e-9 && m.order.Len() > 0; {
		r := m.order.Pop(now, load)
		r.Started = max(now, 1)
		if !m.pick(now, r) {
			continue
		}
		done++
		if now >= r.Deadline {
			c.wasted++
		} else {
			c.good++
		}
	}
	if tick >= lessonPatience-1 {
		for _, r := range m.sent[tick-lessonPatience+1] {
			if r.Started == 0 {
				m.retry(tick, r)
			}
		}
	}
	m.result.ticks = append(m.result.ticks, c)
}

func newLessonRequest(now time.Duration, attempt int) *protection.Request {
	return &protection.Request{
		Attempt: attempt, Cost: 1, Criticality: protection.Critical,
		Arrived: now, Deadline: now + lessonPatience*lessonTick, Expires: protection.Never,
	}
}

// retry has the caller of r try again in the next tick, if it has not yet.
func (m *model) retry(tick int, r *protection.Request) {
	if r.Attempt == 1 && !m.noRetries {
		m.retries[tick+1]++
	}
}

func (m *model) admit(now time.Duration, r *protection.Request) bool {
	for i, p := range m.chain {
		if reason := p.Admit(now, r, m.load(now)); reason != "" {
			m.leave(now, r, m.chain[:i], protection.End{Outcome: protection.Dropped, Reason: reason})
			return false
		}
	}
	return true
}

func (m *model) pick(now time.Duration, r *protection.Request) bool {
	for _, p := range m.chain {
		if p, ok := p.(protection.Picker); ok {
			if reason := p.Pick(now, r, m.load(now)); reason != "" {
				m.leave(now, r, m.chain, protection.End{Outcome: protection.Dropped, Reason: reason, Waited: now - r.Arrived})
				return false
			}
		}
	}
	m.leave(now, r, m.chain, protection.End{Outcome: protection.Served, Waited: now - r.Arrived})
	return true
}

func (m *model) leave(now time.Duration, r *protection.Request, chain []protection.Protection, e protection.End) {
	for _, p := range chain {
		p.Leave(now, r, e)
	}
}

// sweepAt takes out what has expired, if the order wants that.
func (m *model) sweepAt(now time.Duration) {
	if !m.order.(order.Keeper).Sweep() {
		return
	}
	for _, sent := range m.sent {
		for _, r := range sent {
			if r.Started == 0 && now >= r.Expires {
				m.order.Remove(r)
				r.Started = now
				m.leave(now, r, m.chain, protection.End{Outcome: protection.Dropped, Reason: r.ExpiresBy, Waited: now - r.Arrived})
			}
		}
	}
}

// A throttle is that of knee's clients with the chance taken out: it rejects when
// the shares to keep back so far add up to a further whole.
type throttle struct {
	*client.Throttle
	owed float64
}

// newThrottle returns a throttle with a window in ticks, the present one included.
func newThrottle(k float64, window int) *throttle {
	return &throttle{Throttle: client.NewThrottle(k, time.Duration(window)*lessonTick, window)}
}

// rejects decides on one more request, and counts it.
func (h *throttle) rejects(now time.Duration) bool {
	h.owed += h.Share(now)
	h.Request(now)
	if h.owed < 1 {
		return false
	}
	h.owed--
	return true
}

// sum adds up what of returns, over the ticks from a up to b.
func (r lessonResult) sum(of func(lessonCounts) int, a, b int) int {
	total := 0
	for _, c := range r.ticks[a:b] {
		total += of(c)
	}
	return total
}

func good(c lessonCounts) int     { return c.good }
func wasted(c lessonCounts) int   { return c.wasted }
func rejected(c lessonCounts) int { return c.rejected }
func sent(c lessonCounts) int     { return c.sent }
func local(c lessonCounts) int    { return c.local }

// lessonPhases are where the lesson looks.
var lessonPhases = []struct {
	name     string
	from, to int
}{{"before", 0, 50}, {"spike", 50, 100}, {"after", 100, 150}, {"long after", 250, 300}}

// perTick returns what came of each tick of the four phases, on average.
func (r lessonResult) perTick() [4]float64 {
	var x [4]float64
	for i, p := range lessonPhases {
		x[i] = float64(r.sum(good, p.from, p.to)) / float64(p.to-p.from)
	}
	return x
}

// byTen returns the sums over ten ticks each.
func (r lessonResult) byTen(of func(lessonCounts) int) []int {
	var sums []int
	for a := 0; a < lessonTicks; a += 10 {
		sums = append(sums, r.sum(of, a, a+10))
	}
	return sums
}

// row is a line of the tables in these tests: goodput in the four phases, then
// what was wasted, rejected, and the longest queue.
func (r lessonResult) row(verb string) string {
	var b strings.Builder
	for _, x := range r.perTick() {
		fmt.Fprintf(&b, verb, x)
	}
	fmt.Fprintf(&b, "%9d%10d%12d", r.sum(wasted, 0, lessonTicks), r.sum(rejected, 0, lessonTicks), r.peak)
	return b.String()
}

// TestLessonTable holds the table that the lesson prints, digit for digit.
func TestLessonTable(t *testing.T) {
	const want = `policy                before       spike       after  long after   wasted  rejected  peak queue
unbounded FIFO          80.4        24.5         0.0         0.0    23776         0       21213
deadline drop           80.4       100.0        89.9        82.0        0         0        1234
adaptive LIFO           80.4       100.0        90.0        82.0     3445         0       10408
bounded + shed          80.4       100.0        83.6        82.0        0      5294         250
`
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s", "policy")
	for _, p := range lessonPhases {
		fmt.Fprintf(&b, "%12s", p.name)
	}
	fmt.Fprintf(&b, "%9s%10s%12s\n", "wasted", "rejected", "peak queue")
	for _, p := range []struct {
		name string
		lesson
	}{{"unbounded FIFO", unboundedFIFO}, {"deadline drop", deadlineDrop}, {"adaptive LIFO", adaptiveLIFO}, {"bounded + shed", boundedShed}} {
		fmt.Fprintf(&b, "%-16s%s\n", p.name, p.run(t).row("%12.1f"))
	}
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// TestLessonByTick holds what every tick of the lesson came to.
func TestLessonByTick(t *testing.T) {
	for _, tt := range []struct {
		name string
		lesson
		phases [4]float64
		good   int
		hash   string // of good,wasted,rejected by tick
		tens   string
	}{
		{
			"unbounded FIFO", unboundedFIFO,
			[4]float64{80.44, 24.48, 0, 0},
			5246,
			"a6d77411db3351787ce2341161537da323220ce0b0020c8c7d35bda4f132f5bd",
			"812 801 795 778 836 1000 224 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
		}, {
			"deadline drop", deadlineDrop,
			[4]float64{80.44, 100, 89.92, 82},
			25574,
			"57ca269e6b3098ddbb217ad3d8b170967ea204f18f3d59ab9d3685d989a68b5f",
			"812 801 795 778 836 1000 1000 1000 1000 1000 1000 1000 844 828 824 789 791 814 789 810 811 841 719 777 815 811 823 800 830 836",
		}, {
			"adaptive LIFO", adaptiveLIFO,
			[4]float64{80.44, 100, 89.98, 82},
			25577,
			"f02300407e2593b0c7b9cb8a9ccae543c78435c73756194464fdc253c5829c9c",
			"812 801 795 778 836 1000 1000 1000 1000 1000 1000 1000 847 828 824 789 791 814 789 810 811 841 719 777 815 811 823 800 830 836",
		}, {
			"bounded + shed", boundedShed,
			[4]float64{80.44, 100, 83.58, 82},
			25257,
			"79db47cad01bdad76ce02b8db384d88c9024ab283cab7832dd71a64913f6b813",
			"812 801 795 778 836 1000 1000 1000 1000 1000 982 749 796 828 824 789 791 814 789 810 811 841 719 777 815 811 823 800 830 836",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.run(t)
			if got := r.perTick(); got != tt.phases {
				t.Errorf("goodput %v, want %v", got, tt.phases)
			}
			if got := r.sum(good, 0, lessonTicks); got != tt.good {
				t.Errorf("%d good, want %d", got, tt.good)
			}
			if got := strings.Trim(fmt.Sprint(r.byTen(good)), "[]"); got != tt.tens {
				t.Errorf("good by ten ticks\n%s, want\n%s", got, tt.tens)
			}
			var ticks []string
			for _, c := range r.ticks {
				ticks = append(ticks, fmt.Sprintf("%d,%d,%d", c.good, c.wasted, c.rejected))
			}
			if got := hash(strings.Join(ticks, ";")); got != tt.hash {
				t.Errorf("hash %s, want %s", got, tt.hash)
			}
		})
	}
}

// TestLessonSeries holds the other series that the lesson can be read from.
func TestLessonSeries(t *testing.T) {
	fifo, lifo, bounded := unboundedFIFO.run(t), adaptiveLIFO.run(t), boundedShed.run(t)
	for _, tt := range []struct {
		name      string
		got, want []int
	}{
		{"waste of FIFO, by ten ticks", fifo.byTen(wasted)[:10], []int{0, 0, 0, 0, 0, 0, 776, 1000, 1000, 1000}},
		{"waste of adaptive LIFO, by ten ticks", lifo.byTen(wasted), []int{
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 153, 172, 176, 211, 209, 186, 211, 190, 189, 159, 281, 223, 185, 189, 177, 200, 170, 164,
		}},
		{"rejections, by ten ticks", bounded.byTen(rejected)[:12], []int{0, 0, 0, 0, 0, 831, 1156, 1136, 1090, 1061, 20, 0}},
		{"good of FIFO as it collapses", byTick(fifo, good, 60, 64), []int{100, 91, 33, 0}},
		{"waste of FIFO as it collapses", byTick(fifo, wasted, 60, 64), []int{0, 9, 67, 100}},
		{"rejections as the spike begins", byTick(bounded, rejected, 52, 65), []int{32, 75, 92, 124, 135, 118, 117, 138, 130, 117, 114, 94, 97}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s:\n%v, want\n%v", tt.name, tt.got, tt.want)
		}
	}
}

func byTick(r lessonResult, of func(lessonCounts) int, a, b int) []int {
	var all []int
	for _, c := range r.ticks[a:b] {
		all = append(all, of(c))
	}
	return all
}

// TestLessonWithoutRetries is the first exercise: without the one retry the
// unbounded queue recovers, if late. With it, it never does.
func TestLessonWithoutRetries(t *testing.T) {
	for _, tt := range []struct {
		name string
		lesson
		want string
	}{
		{"unbounded FIFO", unboundedFIFO, "       80.44       24.48        0.00       82.00    16258         0        2912"},
		{"deadline drop", deadlineDrop, "       80.44      100.00       87.98       82.00        0         0         888"},
		{"adaptive LIFO", adaptiveLIFO, "       80.44      100.00       81.08       82.00     2757         0        2912"},
		{"bounded + shed", boundedShed, "       80.44      100.00       82.98       82.00        0      2662         250"},
	} {
		tt.noRetries = true
		r := tt.run(t)
		if got := r.row("%12.2f"); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
		if tt.name != "unbounded FIFO" {
			continue
		}
		first := 100
		for ; r.ticks[first].good == 0; first++ {
		}
		if left := r.sum(wasted, 227, lessonTicks); first != 223 || left > 0 || r.ticks[226].wasted == 0 {
			t.Errorf("good again at tick %d, want 223; %d wasted from tick 227 on, want none and the last at 226", first, left)
		}
	}
	if r := unboundedFIFO.run(t); r.sum(good, 100, lessonTicks) > 0 {
		t.Error("with one retry each it recovered")
	}
}

// TestLessonRejectionCost is the second exercise: what rejections cost is taken
// from goodput at once, and at the price of a request shedding itself keeps the
// server down.
func TestLessonRejectionCost(t *testing.T) {
	for _, tt := range []struct {
		cost                    float64
		spike, after, longAfter float64
		rejected, good          int
	}{
		{0, 100, 83.58, 82, 5294, 25257},
		{0.05, 93.68, 83.58, 82, 5920, 24941},
		{0.1, 86.30, 83.58, 82, 6650, 24572},
		{0.2, 64.86, 83.58, 82, 8785, 23500},
		{0.5, 7.22, 78.58, 82, 14880, 20368},
		{1, 5.36, 0, 0, 46870, 4290},
	} {
		l := boundedShed
		l.rejectCost = tt.cost
		r := l.run(t)
		if got, want := r.perTick(), [4]float64{80.44, tt.spike, tt.after, tt.longAfter}; got != want {
			t.Errorf("cost %v: goodput %v, want %v", tt.cost, got, want)
		}
		if no, yes := r.sum(rejected, 0, lessonTicks), r.sum(good, 0, lessonTicks); no != tt.rejected || yes != tt.good {
			t.Errorf("cost %v: %d rejected and %d good, want %d and %d", tt.cost, no, yes, tt.rejected, tt.good)
		}
	}
}

// TestLessonAdaptiveLIFOAndDeadline is the third exercise: a look at the deadline
// at dequeue ends the waste and not the queue. A sweep ends both.
func TestLessonAdaptiveLIFOAndDeadline(t *testing.T) {
	l := adaptiveLIFO
	l.chain = []string{"deadline:allowance=0s"}
	r := l.run(t)
	if got, want := r.row("%12.2f"), "       80.44      100.00       89.98       82.00        0         0       10408"; got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
	if got := r.sum(good, 0, lessonTicks); got != 25577 {
		t.Errorf("%d good, want 25577", got)
	}
	l.sweep, l.order = true, "adaptive_lifo:length=100"
	if got, want := l.run(t).row("%12.2f"), "       80.44      100.00       89.98       82.00        0         0        1215"; got != want {
		t.Errorf("swept:\n%s, want\n%s", got, want)
	}
	l.order = "adaptive_lifo:length=100,sweep=false"
	if got := l.run(t).peak; got != 10408 {
		t.Errorf("an order that is not to be swept has a peak of %d, want 10408", got)
	}
}

// TestLessonThrottle is the fourth exercise. With K = 2 and a long window the
// throttle does nothing in a spike that halves no acceptance; with K near 1 it
// keeps the load away when the server is long idle.
func TestLessonThrottle(t *testing.T) {
	for _, tt := range []struct {
		k                       float64 // 0: no throttle
		window                  int
		sent                    float64 // each tick of the spike
		rejected, local         int
		spike, after, longAfter float64
	}{
		{0, 0, 208.48, 5294, 0, 100, 83.58, 82},
		{2, 120, 208.48, 5294, 0, 100, 83.58, 82},
		{2, 10, 202.02, 4969, 195, 100, 83.58, 82},
		{1.5, 120, 206.70, 5193, 87, 100, 83.04, 82},
		{1.5, 10, 159.38, 2819, 1392, 100, 82.56, 82},
		{1.1, 120, 159.70, 2835, 4896, 100, 63.12, 70.02},
		{1.1, 10, 119.80, 840, 2616, 100, 76.70, 82},
		{1, 120, 143.10, 2005, 7298, 100, 58.50, 52.76},
		{1, 10, 99.30, 363, 9981, 92.04, 44.68, 47.44},
	} {
		l := boundedShed
		if tt.k > 0 {
			l.throttle = newThrottle(tt.k, tt.window)
		}
		r := l.run(t)
		if got, want := r.perTick(), [4]float64{80.44, tt.spike, tt.after, tt.longAfter}; !slices.Equal(got[1:], want[1:]) {
			t.Errorf("K %v over %d ticks: goodput %v, want %v", tt.k, tt.window, got, want)
		}
		if got := float64(r.sum(sent, 50, 100)) / 50; got != tt.sent {
			t.Errorf("K %v over %d ticks: %v sent in each tick of the spike, want %v", tt.k, tt.window, got, tt.sent)
		}
		if no, here := r.sum(rejected, 0, lessonTicks), r.sum(local, 0, lessonTicks); no != tt.rejected || here != tt.local {
			t.Errorf("K %v over %d ticks: %d rejected and %d locally, want %d and %d", tt.k, tt.window, no, here, tt.rejected, tt.local)
		}
	}
}
