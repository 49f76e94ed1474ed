package main

import (
	"context"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"genreport/measure"
)

// version is raised with each release; see CHANGELOG.md.
const version = "0.1.0"

// toolVersion says which genreport measures. The commit comes from the build,
// or, when it was built without version control, from the checkout it runs in.
func toolVersion(ctx context.Context) measure.Tool {
	t := measure.Tool{Version: version, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				t.Commit = s.Value
			case "vcs.modified":
				t.Dirty = s.Value == "true"
			}
		}
	}
	if t.Commit != "" {
		return t
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output(); err == nil {
		t.Commit = strings.TrimSpace(string(out))
		out, err = exec.CommandContext(ctx, "git", "status", "--porcelain", "--", "*.go", "go.mod", "*.py").Output()
		t.Dirty = err != nil || len(out) > 0
	}
	return t
}
