package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

const knownSuites = "bookworm, trixie, forky"

// Debian makes and finds root file systems built from Debian's archive.
type Debian struct {
	// Cache is the directory of finished root file systems; default
	// genreport/rootfs in the user's cache directory.
	Cache string
	// Mirror is the archive's URL. Empty: the one of the machine's own apt
	// configuration. It is used by name only and never stored.
	Mirror string
	// Log, if set, is told in a line what takes time.
	Log func(string)
}

// A build that does not carry this number was made by another recipe (other
// packages or mount points) and is not used.
const recipe = 1

const (
	manifestFile = "manifest.json"
	rootDir      = "root"
)

// manifest describes a finished build. It is written last.
type manifest struct {
	Recipe  int       `json:"recipe"`
	Suite   string    `json:"suite"`
	Package string    `json:"package"`
	Built   time.Time `json:"built"`
}

// Ensure returns the newest finished root file system of a suite, and builds
// one (about 30 s and a download of some 100 MB) if there is none. It needs no
// network when there is one. Two processes that need the same build make it once.
func (d Debian) Ensure(ctx context.Context, suite string) (Rootfs, error) {
	return d.ensure(ctx, suite, "")
}

// Refresh asks the archive what it has now and builds that if it isn't cached.
// Older builds stay, since nodes may run from them.
func (d Debian) Refresh(ctx context.Context, suite string) (Rootfs, error) {
	version, err := d.Available(ctx, suite)
	if err != nil {
		return Rootfs{}, err
	}
	return d.ensure(ctx, suite, version)
}

// ensure is Ensure for the given package version, or for any if it is empty.
func (d Debian) ensure(ctx context.Context, suite, version string) (Rootfs, error) {
	if err := checkSuite(suite); err != nil {
		return Rootfs{}, err
	}
	if r, ok, err := d.find(suite, version); err != nil || ok {
		return r, err
	}
	cache, err := d.cacheDir()
	if err != nil {
		return Rootfs{}, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Rootfs{}, fmt.Errorf("make the cache of root file systems: %w", err)
	}
	lock, err := waitLock(ctx, filepath.Join(cache, suite+".lock"), func() {
		d.log("waiting for another process that builds " + suite)
	})
	if err != nil {
		return Rootfs{}, fmt.Errorf("lock the cache of root file systems for %s: %w", suite, err)
	}
	defer lock.unlock()
	// The other process may have made it while we waited.
	if r, ok, err := d.find(suite, version); err != nil || ok {
		return r, err
	}
	r, err := d.build(ctx, cache, suite)
	if err != nil {
		return Rootfs{}, fmt.Errorf("build a root file system of Debian %s: %w", suite, err)
	}
	return r, nil
}

// find returns the newest finished build of a suite (and version, if given).
func (d Debian) find(suite, version string) (Rootfs, bool, error) {
	list, err := d.Cached()
	if err != nil {
		return Rootfs{}, false, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Suite == suite && (version == "" || list[i].Package == version) {
			return list[i], true, nil
		}
	}
	return Rootfs{}, false, nil
}

// Cached lists the finished root file systems by suite, then from old to new.
// What was interrupted, or made by another recipe, is not among them.
func (d Debian) Cached() ([]Rootfs, error) {
	cache, err := d.cacheDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(cache)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the cache of root file systems: %w", err)
	}
	var list []Rootfs
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), partialPrefix) {
			continue
		}
		if r, err := readBuild(filepath.Join(cache, e.Name())); err == nil {
			list = append(list, r)
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].Suite != list[j].Suite {
			return list[i].Suite < list[j].Suite
		}
		return list[i].Built.Before(list[j].Built)
	})
	return list, nil
}

// readBuild reads a finished build; anything else is an error.
func readBuild(dir string) (Rootfs, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return Rootfs{}, err
	}
	var m manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Rootfs{}, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return Rootfs{}, errors.New("manifest: more than one value")
	}
	if m.Recipe != recipe || m.Package == "" || checkSuite(m.Suite) != nil {
		return Rootfs{}, errors.New("manifest: of another recipe")
	}
	r := Rootfs{Dir: filepath.Join(dir, rootDir), Suite: m.Suite, Package: m.Package, Built: m.Built}
	if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() {
		return Rootfs{}, errors.New("no root file system in it")
	}
	return r, nil
}

func (d Debian) cacheDir() (string, error) {
	if d.Cache != "" {
		return filepath.Abs(d.Cache)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w; set XDG_CACHE_HOME", err)
	}
	return filepath.Join(dir, "genreport", "rootfs"), nil
}

func (d Debian) log(line string) {
	if d.Log != nil {
		d.Log(line)
	}
}
