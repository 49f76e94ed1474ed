package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A FileLock is an flock: the kernel drops it when its holder ends, however
// that happens. Lock files are never deleted while others may open them, since two
// holders would then lock two different files of one name.
type FileLock struct{ f *os.File }

// ErrLocked says that a lock is taken.
var ErrLocked = errors.New("locked by another process")

// TryLock takes the lock on path, made if need be, or returns ErrLocked.
func TryLock(path string) (*FileLock, error) {
	return openLock(path, os.O_CREATE|os.O_RDWR, syscall.LOCK_EX)
}

// TryShare takes a lock on path that others may take with TryShare, too, or
// returns ErrLocked. The file must exist.
func TryShare(path string) (*FileLock, error) {
	return openLock(path, os.O_RDONLY, syscall.LOCK_SH)
}

func openLock(path string, flag, how int) (*FileLock, error) {
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
		err = ErrLocked
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &FileLock{f}, nil
}

// WaitLock takes the lock on path and calls waiting once if another has it.
func WaitLock(ctx context.Context, path string, waiting func()) (*FileLock, error) {
	for {
		l, err := TryLock(path)
		if err != ErrLocked {
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

// Unlock lets the lock go.
func (l *FileLock) Unlock() { l.f.Close() }

// StateDir returns a directory of this user alone for lock files and the
// data of servers. It lies in the temporary directory, where anyone could have made one
// of that name, so its owner and mode are checked.
func StateDir() (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("make a directory for the data of servers: %w", DirHint(err))
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
		return "", fmt.Errorf("directory for the data of servers %s: it is not a directory that only you can write to; remove it, or set TMPDIR", dir)
	}
	return dir, nil
}

// DirHint adds to an error of the file system what can be done about it.
func DirHint(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	return fmt.Errorf("%w; set TMPDIR to a directory that can be written", err)
}
