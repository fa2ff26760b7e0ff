package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newVersionCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version",
		Long:    "version prints the version of knee, of Go, and the platform it was built for.",
		Example: "  knee version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(w.stdout, versionLine())
			return err
		},
	}
}

// versionLine is what version prints.
func versionLine() string {
	return fmt.Sprintf("knee %s %s %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
