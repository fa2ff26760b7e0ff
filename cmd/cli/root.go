package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"knee/ci/verdict"
)

// A failure is an error with the exit code that it leads to. A failure without
// an error has been reported already.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// fail returns an error that ends knee with code.
func fail(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...)}
}

// exit ends knee with code and says nothing more; nil for code 0.
func exit(code int) error {
	if code == verdict.CodeOK {
		return nil
	}
	return &failure{code: code}
}

// An interrupt is why a run was stopped by a signal.
type interrupt struct{ signal os.Signal }

func (i *interrupt) Error() string { return "stopped by " + i.signal.String() }

func (i *interrupt) code() int {
	if i.signal == syscall.SIGTERM {
		return verdict.CodeTerminated
	}
	return verdict.CodeInterrupted
}

// run carries out the command line of w and returns the exit code.
func run(ctx context.Context, w *world) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(w.stderr, "knee: internal error: %v\n%s", p, debug.Stack())
			code = verdict.CodeInternal
		}
	}()
	ctx, stop := w.interruptible(ctx)
	defer stop()
	root := newRootCmd(w)
	root.SetArgs(w.args)
	root.SetIn(w.stdin)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	return w.report(root.ExecuteContext(ctx))
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels with
// an *interrupt as its cause. The second one leaves at once.
func (w *world) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, stop := w.interrupts()
	done := make(chan struct{})
	go func() {
		var first *interrupt
		for {
			select {
			case s := <-signals:
				if first != nil {
					w.leave(first.code())
					return
				}
				first = &interrupt{signal: s}
				fmt.Fprintln(w.stderr, "knee: stopping the load; once more leaves at once")
				cancel(first)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		stop()
		close(done)
		cancel(nil)
	}
}

// report prints what ended a verb, if anything did, and returns the exit code.
func (w *world) report(err error) int {
	if err == nil {
		return verdict.CodeOK
	}
	code := verdict.CodeUsage
	if stopped := (*interrupt)(nil); errors.As(err, &stopped) {
		code = stopped.code()
	} else if f := (*failure)(nil); errors.As(err, &f) {
		if f.err == nil {
			return f.code
		}
		code = f.code
	}
	lines := strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
	for _, line := range lines {
		fmt.Fprintf(w.stderr, "knee: %s\n", line)
	}
	return code
}

func newRootCmd(w *world) *cobra.Command {
	root := &cobra.Command{
		Use:   "knee",
		Short: "find the load at which a server stops turning requests into useful answers",
		Long: `knee offers a server more and more load, whether or not it keeps up, and says
where goodput (answers that are right and in time) stops following, what is
left of it far beyond, and how long it takes to come back after a spike.

Exit codes: 0 every check met, 1 a check not met, 2 usage or profile wrong,
3 could not start, 4 aborted, 5 inconclusive, 6 a fault could not be reverted,
70 internal error, 130 and 143 stopped by a signal.`,
		Example: `  knee find                               # the built-in server, about a minute
  knee find --virtual                     # the same in virtual time, a second
  knee find --url http://127.0.0.1:8080/  # your server`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       versionLine(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newFindCmd(w),
		newRunCmd(w),
		newGateCmd(w),
		newCostCmd(w),
		newCompareCmd(w),
		newAnalyzeCmd(w),
		newReportCmd(w),
		newServeCmd(w),
		newListCmd(w),
		newSchemaCmd(w),
		newDoctorCmd(w),
		newClosedCmd(w),
		newVersionCmd(w),
	)
	for _, c := range root.Commands() {
		c.Args = inOurWords(c.Args)
	}
	root.AddCommand(newTargetsTopic())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(w.args...)
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if isTopic(root, args) {
					return nil
				}
				return knownVerb(root, args)
			}
		case "completion":
			c.Args = inOurWords(cobra.NoArgs)
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}
