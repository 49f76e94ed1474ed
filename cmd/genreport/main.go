// Command genreport measures RabbitMQ and publishes what it measured as static
// articles. `genreport --help` tells how to use it.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
