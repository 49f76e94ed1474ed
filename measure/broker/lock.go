package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A fileLock is an flock: the kernel drops it when its holder ends, however
// that happens. Lock files are never deleted while others may open them, since two
// holders would then lock two different files of one name.
type fileLock struct{ f *os.File }

var errLocked = errors.New("locked by another process")

// tryLock takes the lock on path, made if need be, or returns errLocked.
func tryLock(path string) (*fileLock, error) {
	return openLock(path, os.O_CREATE|os.O_RDWR, syscall.LOCK_EX)
}

// tryShare takes a lock on path that others may take with tryShare, too, or
// returns errLocked. The file must exist.
func tryShare(path string) (*fileLock, error) {
	return openLock(path, os.O_RDONLY, syscall.LOCK_SH)
}

func openLock(path string, flag, how int) (*fileLock, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == syscall.EWOULDBLOCK {
		err = errLocked
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &fileLock{f}, nil
}

// waitLock takes the lock on path and calls waiting once if another has it.
func waitLock(ctx context.Context, path string, waiting func()) (*fileLock, error) {
	for {
		l, err := tryLock(path)
		if err != errLocked {
			return l, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (l *fileLock) unlock() { l.f.Close() }

// stateDir returns a directory of this user alone for lock files and node
// data. It lies in the temporary directory, where anyone could have made one
// of that name, so its owner and mode are checked.
func stateDir() (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("make a directory for node data: %w", dirHint(err))
	}
	dir, err := filepath.Abs(filepath.Join(os.TempDir(), fmt.Sprintf("genreport-%d", os.Getuid())))
	if err != nil {
		return fail(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fail(err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fail(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || !ok || int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("directory for node data %s: it is not a directory that only you can write to; remove it, or set TMPDIR", dir)
	}
	return dir, nil
}

// dirHint adds to an error of the file system what can be done about it.
func dirHint(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	return fmt.Errorf("%w; set TMPDIR to a directory that can be written", err)
}
