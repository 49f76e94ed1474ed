package debian

import (
	"context"
	"os/exec"
	"runtime"
	"sort"
	"syscall"
	"time"
)

// Rootfs is a finished root file system of an image.
type Rootfs struct {
	Dir     string    // the root itself; a path of this machine: never store it
	Suite   string    // Debian's code name
	Package string    // version of the image's package, such as 4.3.6-1
	Built   time.Time // UTC
	image   Image

	// While a Rootfs of Ensure or Refresh can be reached, its build is not
	// pruned: the lock goes when the garbage collector, or the kernel, closes it.
	use *FileLock
}

// CommandOptions says what a command in a root file system sees of the world.
type CommandOptions struct {
	Env  map[string]string // added to PATH, HOME and LANG; nothing is inherited
	Bind map[string]string // host directory -> guest directory below /mnt, /tmp or /run, read-write
	Dir  string            // working directory within; default /
	// OwnNames keeps the host's name resolution out: a server must find localhost
	// whatever the machine calls itself.
	OwnNames bool
}

// Command prepares (does not start) argv inside the root file system: it is
// read-only, with empty /tmp, /run and /mnt, an environment of its own, the
// network shared, and the host's name resolution unless OwnNames is set. The processes die when the
// calling process does, or when ctx ends; for the former to hold in every case
// start it with StartTied, since the kernel ties them to the starting thread.
func (r Rootfs) Command(ctx context.Context, opts CommandOptions, argv ...string) *exec.Cmd {
	args := []string{
		"--die-with-parent", "--unshare-pid",
		// A host name that looks like an address makes epmd fail.
		"--unshare-uts", "--hostname", "localhost",
		"--clearenv",
		"--ro-bind", r.Dir, "/",
		"--proc", "/proc", "--dev", "/dev",
		// Erlang reads the processors and the limits of a container there.
		"--ro-bind-try", "/sys", "/sys",
	}
	for _, dir := range r.image.emptyDirs() {
		args = append(args, "--tmpfs", dir)
	}
	if !opts.OwnNames {
		args = append(args, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf", "--ro-bind-try", "/etc/hosts", "/etc/hosts")
	}
	for _, host := range sortedKeys(opts.Bind) {
		args = append(args, "--bind", host, opts.Bind[host])
	}
	env := map[string]string{
		"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME": "/tmp",
		"LANG": "C.UTF-8",
	}
	for k, v := range opts.Env {
		env[k] = v
	}
	for _, k := range sortedKeys(env) {
		args = append(args, "--setenv", k, env[k])
	}
	dir := opts.Dir
	if dir == "" {
		dir = "/"
	}
	args = append(args, "--chdir", dir, "--")
	args = append(args, argv...)

	cmd := exec.CommandContext(ctx, "bwrap", args...)
	cmd.Env = []string{"LC_ALL=C"} // bwrap's own; what is within has --setenv
	// A session of its own keeps a terminal's Ctrl-C from it: who started it ends it in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// PackageVersion returns the version of a package that is installed in it.
func (r Rootfs) PackageVersion(name string) (string, error) { return installedVersion(r.Dir, name) }

// StartTied starts cmd so that it dies with this process, kill -9 included.
// Linux sends the parent-death signal when the starting THREAD ends, so that
// thread is kept until wait has returned. The caller must call wait, which is
// cmd.Wait and has its rules about pipes.
func StartTied(cmd *exec.Cmd) (wait func() error, err error) {
	started := make(chan error)
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-ended
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return func() error {
		defer close(ended)
		return cmd.Wait()
	}, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
