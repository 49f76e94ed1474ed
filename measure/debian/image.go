package debian

import (
	"fmt"
	"regexp"
	"strings"
)

// An Image says what a root file system holds besides Debian's minimum.
type Image struct {
	// Name begins the names of its builds in the cache. Two images that are
	// used together must not share one; at most one may have none. No hyphen may be in it.
	Name     string
	Packages []string
	Version  string   // the package whose version names a build
	Files    []string // paths that must exist in what was built
	Dirs     []string // where a command finds an empty, writable directory, besides /tmp, /run and /mnt
	Suites   []string // those that are known to have the packages
	// Recipe is stored with a build. One that does not carry this number was made
	// with other packages or mount points and is not used.
	Recipe int
}

var suiteRule = regexp.MustCompile(`^[a-z]+$`)

// CheckSuite refuses what can't be a suite's code name. Whether a mirror has
// it is not known then.
func (i Image) CheckSuite(suite string) error {
	if !suiteRule.MatchString(suite) {
		return fmt.Errorf("Debian suite %q: a suite is a code name of small letters; known good: %s", suite, i.known())
	}
	return nil
}

func (i Image) known() string { return strings.Join(i.Suites, ", ") }

// key begins the name of a build, of its lock and of what an interrupted build
// left. No suite has a dot in it, so no image's names are another's.
func (i Image) key(suite string) string {
	if i.Name == "" {
		return suite
	}
	return i.Name + "." + suite
}

// emptyDirs lists where a command finds an empty, writable directory.
func (i Image) emptyDirs() []string {
	return append([]string{"/tmp", "/run", "/mnt"}, i.Dirs...)
}
