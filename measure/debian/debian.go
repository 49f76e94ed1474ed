package debian

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

const (
	manifestFile = "manifest.json"
	rootDir      = "root"
)

// manifest describes a finished build. It is written last.
type manifest struct {
	// Image is the image's name. The image without one has always left it out.
	Image   string    `json:"image,omitempty"`
	Recipe  int       `json:"recipe"`
	Suite   string    `json:"suite"`
	Package string    `json:"package"`
	Built   time.Time `json:"built"`
}

// Ensure returns the newest finished root file system of an image and suite, and
// builds one (about 30 s and a download of some 100 MB) if there is none. It needs no
// network when there is one. Two processes that need the same build make it once.
func (d Debian) Ensure(ctx context.Context, image Image, suite string) (Rootfs, error) {
	return d.ensure(ctx, image, suite, "")
}

// Refresh asks the archive what it has now and builds that if it isn't cached.
// Older builds of the image and suite that nobody uses are removed then.
func (d Debian) Refresh(ctx context.Context, image Image, suite string) (Rootfs, error) {
	version, err := d.Available(ctx, image, suite)
	if err != nil {
		return Rootfs{}, err
	}
	return d.ensure(ctx, image, suite, version)
}

// ensure is Ensure for the given package version, or for any if it is empty.
func (d Debian) ensure(ctx context.Context, image Image, suite, version string) (Rootfs, error) {
	if err := image.CheckSuite(suite); err != nil {
		return Rootfs{}, err
	}
	if r, ok, err := d.find(image, suite, version); err != nil || ok {
		return r, err
	}
	cache, err := d.cacheDir()
	if err != nil {
		return Rootfs{}, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Rootfs{}, fmt.Errorf("make the cache of root file systems: %w", err)
	}
	lock, err := WaitLock(ctx, filepath.Join(cache, image.key(suite)+".lock"), func() {
		d.log("waiting for another process that builds " + image.key(suite))
	})
	if err != nil {
		return Rootfs{}, fmt.Errorf("lock the cache of root file systems for %s: %w", suite, err)
	}
	defer lock.Unlock()
	// The other process may have made it while we waited.
	if r, ok, err := d.find(image, suite, version); err != nil || ok {
		return r, err
	}
	r, err := d.build(ctx, cache, image, suite)
	if err != nil {
		return Rootfs{}, fmt.Errorf("build a root file system of Debian %s: %w", suite, err)
	}
	d.prune(cache, image, r)
	return r, nil
}

// find returns the newest finished build of a suite (and version, if given),
// and keeps it from being pruned.
func (d Debian) find(image Image, suite, version string) (Rootfs, bool, error) {
	list, err := d.Cached(image)
	if err != nil {
		return Rootfs{}, false, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Suite == suite && (version == "" || list[i].Package == version) {
			if r, ok := list[i].hold(); ok {
				return r, true, nil
			}
		}
	}
	return Rootfs{}, false, nil
}

// hold keeps a build from being pruned. It returns false if that came first.
func (r Rootfs) hold() (Rootfs, bool) {
	build := filepath.Dir(r.Dir)
	lock, err := TryShare(filepath.Join(build, manifestFile))
	if err != nil {
		return Rootfs{}, false
	}
	// It may have been renamed between our look and the lock.
	if _, err := readBuild(build, r.image); err != nil {
		lock.Unlock()
		return Rootfs{}, false
	}
	r.use = lock
	return r, true
}

// prune removes the builds of an image and suite that are older than r, which was just
// made, or of an older recipe, except those in use. The caller holds the
// suite's lock.
func (d Debian) prune(cache string, image Image, r Rootfs) {
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		dir := filepath.Join(cache, e.Name())
		m, err := readManifest(dir)
		if err != nil || strings.HasPrefix(e.Name(), partialPrefix) || m.Image != image.Name || m.Suite != r.Suite || filepath.Join(dir, rootDir) == r.Dir ||
			m.Recipe > image.Recipe || (m.Recipe == image.Recipe && m.Built.After(r.Built)) {
			continue
		}
		what := "the older root file system of Debian " + m.Suite + " with " + image.Version + " " + m.Package
		lock, err := TryLock(filepath.Join(dir, manifestFile))
		if err == nil && runsFrom(filepath.Join(dir, rootDir)) {
			lock.Unlock()
			err = ErrLocked
		}
		if errors.Is(err, ErrLocked) {
			d.log("keeping " + what + ", which is in use")
			continue
		}
		if err == nil {
			// Under this name it is removed by the next build if this one is killed.
			old := filepath.Join(cache, partialPrefix+e.Name()+".old")
			if err = os.Rename(dir, old); err == nil {
				err = removeTree(old)
			}
			lock.Unlock()
		}
		if err != nil {
			d.log("can't remove " + what + ": " + err.Error())
			continue
		}
		d.log("removed " + what)
	}
}

// runsFrom reports whether a process runs in a root. Not everyone has the lock:
// genreport before recipe 2, and a command whose Rootfs nobody holds any more.
func runsFrom(root string) bool {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range processes {
		data, _ := os.ReadFile(path) // it may have ended
		if bytes.Contains(data, []byte("\x00"+root+"\x00")) {
			return true
		}
	}
	return false
}

// Cached lists the finished root file systems of an image by suite, then from old
// to new. What was interrupted, or made by another recipe, is not among them.
func (d Debian) Cached(image Image) ([]Rootfs, error) {
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
		if r, err := readBuild(filepath.Join(cache, e.Name()), image); err == nil {
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

// readManifest reads the manifest of a build, of whichever recipe.
func readManifest(dir string) (manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return manifest{}, err
	}
	var m manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return manifest{}, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return manifest{}, errors.New("manifest: more than one value")
	}
	return m, nil
}

// readBuild reads a finished build of an image; anything else is an error.
func readBuild(dir string, image Image) (Rootfs, error) {
	m, err := readManifest(dir)
	if err != nil {
		return Rootfs{}, err
	}
	if m.Image != image.Name || m.Recipe != image.Recipe || m.Package == "" || image.CheckSuite(m.Suite) != nil {
		return Rootfs{}, errors.New("manifest: of another image or recipe")
	}
	r := Rootfs{Dir: filepath.Join(dir, rootDir), Suite: m.Suite, Package: m.Package, Built: m.Built, image: image}
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
