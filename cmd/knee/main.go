// Command knee finds the load at which a server stops turning requests into
// useful answers, and says what happens past it.
package main

import (
	"os"

	"knee/cmd/cli"
)

func main() {
	os.Exit(cli.Main())
}
