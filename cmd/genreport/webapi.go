package main

import (
	"context"
	"errors"
	"io"

	"genreport/measure/webapi"
)

// webapiCommand is a process of the web API experiments. It ends with its
// standard input, or with a signal as if that had ended.
func webapiCommand(ctx context.Context, args []string, s streams) error {
	if len(args) > 0 {
		return usageError{errors.New("webapi takes no arguments: it reads a job on standard input")}
	}
	in, copied := io.Pipe()
	defer context.AfterFunc(ctx, func() { copied.Close() })()
	go func() {
		_, err := io.Copy(copied, s.in)
		copied.CloseWithError(err) // nil is the end
	}()
	return webapi.Serve(in, s.out)
}
