package debian

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// A DataDir is the directory of a server's files. Others know by its lock that
// it is in use.
type DataDir struct {
	Path string
	lock *FileLock
}

// MakeDataDir makes and locks a directory for a server of a kind ("node"), and
// removes those that killed runs have left. It lies in parent, by default in a
// directory of this user below the temporary directory.
func MakeDataDir(ctx context.Context, kind, parent string) (*DataDir, error) {
	fail := func(err error) (*DataDir, error) {
		return nil, fmt.Errorf("make the data directory: %w", DirHint(err))
	}
	state, err := StateDir()
	if err != nil {
		return nil, err
	}
	if parent == "" {
		parent = filepath.Join(state, kind+"s")
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fail(err)
	}
	// Between making a directory and locking it nobody may clean up.
	guard, err := WaitLock(ctx, filepath.Join(state, kind+"s.lock"), nil)
	if err != nil {
		return fail(err)
	}
	defer guard.Unlock()
	removeStale(parent, kind)
	dir, err := os.MkdirTemp(parent, kind+"-")
	if err != nil {
		return fail(err)
	}
	lock, err := TryLock(filepath.Join(dir, "lock"))
	if err != nil {
		os.RemoveAll(dir)
		return fail(err)
	}
	return &DataDir{Path: dir, lock: lock}, nil
}

// removeStale removes the data directories whose run is dead: they have a lock
// file that nobody holds.
func removeStale(parent, kind string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, kind+"-*"))
	for _, dir := range dirs {
		path := filepath.Join(dir, "lock")
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if lock, err := TryLock(path); err == nil {
			os.RemoveAll(dir)
			lock.Unlock()
		}
	}
}

// Free returns how many octets are free where it is.
func (d *DataDir) Free() (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(d.Path, &disk); err != nil {
		return 0, fmt.Errorf("%s: %w", d.Path, err)
	}
	return disk.Bavail * uint64(disk.Bsize), nil
}

// InMemory reports whether a directory lies in memory rather than on a disk.
func InMemory(dir string) (bool, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return false, fmt.Errorf("%s: %w", dir, err)
	}
	const tmpfs, ramfs = 0x01021994, 0x858458f6 // statfs(2)
	kind := uint32(disk.Type)
	return kind == tmpfs || kind == ramfs, nil
}

// Remove removes the directory and all in it.
func (d *DataDir) Remove() error {
	defer d.lock.Unlock()
	return os.RemoveAll(d.Path)
}

// Keep leaves the directory to the user: nothing removes it later.
func (d *DataDir) Keep() error {
	defer d.lock.Unlock()
	return os.Remove(filepath.Join(d.Path, "lock"))
}
