package webapi

import (
	"context"
	"os"
	"os/exec"
	"testing"
)

// playVariable makes this test binary a process of this package.
const playVariable = "GENREPORT_WEBAPI_TEST_PLAY"

func TestMain(m *testing.M) {
	if os.Getenv(playVariable) == "" {
		os.Exit(m.Run())
	}
	if Serve(os.Stdin, os.Stdout) != nil {
		os.Exit(1)
	}
}

func serveCommand(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), playVariable+"=1")
	return cmd
}
