package debian

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Builds in progress have this prefix and are never looked into.
const partialPrefix = "partial-"

// build makes a root file system next to its final place, checks it, and
// renames it. The caller holds the lock of image and suite.
func (d Debian) build(ctx context.Context, cache string, image Image, suite string) (Rootfs, error) {
	if err := NeedTools("mmdebstrap", "apt-get", "apt-config", "bwrap", "tar"); err != nil {
		return Rootfs{}, err
	}
	keyring, err := archiveKeyring()
	if err != nil {
		return Rootfs{}, err
	}
	mirror, err := d.mirror(ctx)
	if err != nil {
		return Rootfs{}, err
	}
	d.removePartial(cache, image.key(suite))
	partial, err := os.MkdirTemp(cache, partialPrefix+image.key(suite)+"-")
	if err != nil {
		return Rootfs{}, err
	}
	defer removeTree(partial)
	if err := os.Chmod(partial, 0o755); err != nil {
		return Rootfs{}, err
	}
	root := filepath.Join(partial, rootDir)
	temp, err := buildTemp(partial)
	if err != nil {
		return Rootfs{}, err
	}
	defer removeTree(temp)
	d.log("building a root file system of Debian " + suite + " with " + image.Version + " (once; about a minute)")
	if err := d.bootstrap(ctx, image, suite, root, temp, mirror, keyring); err != nil {
		return Rootfs{}, err
	}
	if err := removeTree(temp); err != nil {
		return Rootfs{}, err
	}
	if err := finishRoot(root, image); err != nil {
		return Rootfs{}, err
	}
	version, err := installedVersion(root, image.Version)
	if err != nil {
		return Rootfs{}, err
	}
	m := manifest{Image: image.Name, Recipe: image.Recipe, Suite: suite, Package: version, Built: time.Now().UTC().Truncate(time.Second)}
	if err := writeManifest(partial, m); err != nil {
		return Rootfs{}, err
	}
	// The recipe is in the name, since an older genreport may run from a build of its own.
	final := filepath.Join(cache, fmt.Sprintf("%s-%s.recipe%d", image.key(suite), strings.ReplaceAll(version, ":", "%3a"), image.Recipe))
	if r, err := readBuild(final, image); err == nil {
		// The archive has told of a version that it did not give: nodes may run from this one.
		if r, ok := r.hold(); ok {
			return r, nil
		}
	}
	if _, err := os.Lstat(final); err == nil {
		// Not a finished build, or it would have been taken.
		if err := os.Rename(final, partial+".old"); err != nil {
			return Rootfs{}, err
		}
		defer removeTree(partial + ".old")
	}
	if err := os.Rename(partial, final); err != nil {
		return Rootfs{}, err
	}
	r, err := readBuild(final, image)
	if err != nil {
		return Rootfs{}, err
	}
	r, ok := r.hold()
	if !ok {
		return Rootfs{}, errors.New("it was removed as soon as it was made")
	}
	return r, nil
}

// buildTemp makes the directory for mmdebstrap's temporary files: within the
// build, so that it goes with it however the build ends. Without root,
// mmdebstrap works there with user ids of /etc/subuid, to which homes are
// often closed; then it lies in the temporary directory.
func buildTemp(partial string) (string, error) {
	temp := filepath.Join(partial, "tmp")
	if os.Getuid() == 0 || openToAll(partial) {
		if err := os.Mkdir(temp, 0o755); err != nil {
			return "", err
		}
	} else {
		var err error
		if temp, err = os.MkdirTemp("", "genreport-build-"); err != nil {
			return "", DirHint(err)
		}
	}
	return temp, os.Chmod(temp, 0o755) // whatever the umask is
}

// openToAll reports whether every user may enter a directory.
func openToAll(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// bootstrap runs mmdebstrap. Signatures are always checked; the expiry date
// of a Release file is not, since that of a testing suite on a mirror may
// have passed.
func (d Debian) bootstrap(ctx context.Context, image Image, suite, root, temp, mirror, keyring string) error {
	args := []string{
		"--variant=minbase", "--include=" + strings.Join(image.Packages, ","), "--components=main",
		"--keyring=" + keyring, `--aptopt=Acquire::Check-Valid-Until "false"`,
	}
	if os.Getuid() == 0 {
		return d.mmdebstrap(ctx, image, suite, temp, mirror, append(args, "--mode=root", "--format=directory", suite, root, mirror), nil)
	}
	// Without root a directory would belong to other user ids: take a tar and unpack it as this user.
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	tar := exec.CommandContext(ctx, "tar", "--extract", "--file=-", "--directory="+root,
		"--no-same-owner", "--exclude=./dev/*")
	var tarErr bytes.Buffer
	tar.Stderr = &tarErr
	pipe, err := tar.StdinPipe()
	if err != nil {
		return err
	}
	wait, err := StartTied(tar)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	err = d.mmdebstrap(ctx, image, suite, temp, mirror, append(args, "--mode=unshare", "--format=tar", suite, "-", mirror), pipe)
	pipe.Close()
	if tarFailed := wait(); err == nil && tarFailed != nil {
		return fmt.Errorf("unpack: %w: %s", tarFailed, LastLines(tarErr.String(), 3))
	}
	return err
}

func (d Debian) mmdebstrap(ctx context.Context, image Image, suite, temp, mirror string, args []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "mmdebstrap", args...)
	cmd.Env = append(append(aptEnviron(os.Environ()), aptProxy(ctx)...), "TMPDIR="+temp)
	cmd.Stdout = out
	contain(cmd)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	wait, err := StartTied(cmd)
	if err != nil {
		return fmt.Errorf("start mmdebstrap: %w", err)
	}
	said := d.follow(stderr)
	err = wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return mirrorError(image, suite, mirror, said, fmt.Errorf("mmdebstrap: %w", err))
	}
	return nil
}

// contain makes a build end completely, with its mounts, when it is cancelled
// or this process is killed.
func contain(cmd *exec.Cmd) {
	cmd.WaitDelay = 10 * time.Second
	if os.Getuid() == 0 {
		// As root mmdebstrap mounts the machine's /dev, /proc and /sys into what it
		// builds. In a mount namespace of its own nobody else sees those, and
		// with the first process of a PID namespace all others die.
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Unshareflags: syscall.CLONE_NEWNS, Cloneflags: syscall.CLONE_NEWPID,
			Setpgid: true, Pdeathsig: syscall.SIGKILL,
		}
		return
	}
	// Else it makes namespaces itself; SIGTERM lets it end them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// follow passes mmdebstrap's stages on to the log, and returns all it said.
func (d Debian) follow(r io.Reader) string {
	var said strings.Builder
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		said.WriteString(line + "\n")
		if stage, ok := strings.CutPrefix(line, "I: "); ok && strings.HasSuffix(stage, "...") && !strings.Contains(stage, "signal") && !strings.Contains(stage, "tempdir") {
			d.log(strings.TrimSuffix(stage, "..."))
		}
	}
	io.Copy(io.Discard, r) // a line too long must not block it
	return said.String()
}

// finishRoot makes the mount points that a read-only root needs, and takes
// out what describes this machine.
func finishRoot(root string, image Image) error {
	for _, dir := range append(image.emptyDirs(), "/proc", "/dev", "/sys") {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{
		"etc/hosts":       "127.0.0.1 localhost\n::1 localhost\n", // bookworm has none, and a node then hangs at boot
		"etc/hostname":    "localhost\n",
		"etc/resolv.conf": "",
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		os.Remove(path) // a symbolic link would lead out of the root
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, name := range []string{"etc/apt/sources.list", "etc/apt/apt.conf.d/99mmdebstrap"} {
		if err := os.Remove(filepath.Join(root, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, name := range image.Files {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			return fmt.Errorf("what was built has no %s", name)
		}
	}
	return nil
}

// installedVersion reads the version of an installed package from dpkg's database.
func installedVersion(root, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, "var/lib/dpkg/status"))
	if err != nil {
		return "", err
	}
	for _, paragraph := range strings.Split(string(data), "\n\n") {
		fields := map[string]string{}
		for _, line := range strings.Split(paragraph, "\n") {
			if key, value, ok := strings.Cut(line, ": "); ok {
				fields[key] = value
			}
		}
		if fields["Package"] != name {
			continue
		}
		if fields["Status"] != "install ok installed" || fields["Version"] == "" {
			return "", fmt.Errorf("package %s is not completely installed", name)
		}
		return fields["Version"], nil
	}
	return "", fmt.Errorf("package %s is not installed", name)
}

// writeManifest writes what makes a build a finished one, after everything
// else has reached the disk.
func writeManifest(dir string, m manifest) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	syscall.Sync()
	f, err := os.Create(filepath.Join(dir, manifestFile))
	if err != nil {
		return err
	}
	if _, err := f.Write(append(data, '\n')); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// removePartial removes what interrupted builds have left, of one image and suite.
func (d Debian) removePartial(cache, key string) {
	left, _ := filepath.Glob(filepath.Join(cache, partialPrefix+key+"-*"))
	for _, dir := range left {
		if err := removeTree(dir); err != nil {
			d.log("can't remove what an interrupted build left: " + err.Error())
		}
	}
}

// removeTree removes a directory unless something is mounted in it. Builds
// keep their mounts to themselves (contain); should one ever be seen here, the
// machine's /dev or /sys may be behind it, and must survive.
func removeTree(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			return fmt.Errorf("remove %s: something is still mounted in it", dir)
		}
	}
	err = os.RemoveAll(dir)
	if errors.Is(err, os.ErrPermission) && os.Getuid() != 0 {
		// What a build without root was working on belongs to user ids of /etc/subuid.
		exec.Command("mmdebstrap", "--unshare-helper", "rm", "-rf", dir).Run()
		err = os.RemoveAll(dir)
	}
	return err
}

// NeedTools returns an error that names the missing ones of the programs and how to get them.
func NeedTools(names ...string) error {
	var missing []string
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("not installed: %s; %s", strings.Join(missing, ", "), installHint)
}

const installHint = "install with `make setup` or `apt-get install mmdebstrap bubblewrap uidmap debian-archive-keyring` (as root, on Debian or Ubuntu)"

// NamespaceHint says what keeps bwrap and mmdebstrap from working without root
// on this machine, and what to do; "" if nothing is known to.
func NamespaceHint() string { return namespaceHintFor(os.Getuid(), os.ReadFile) }

func namespaceHintFor(uid int, readFile func(string) ([]byte, error)) string {
	if uid == 0 {
		return ""
	}
	for _, s := range []struct{ name, bad, good string }{
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"}, // Ubuntu since 24.04
		{"kernel.unprivileged_userns_clone", "0", "1"},             // Debian, some hardened kernels
	} {
		value, err := readFile("/proc/sys/" + strings.ReplaceAll(s.name, ".", "/"))
		if err == nil && strings.TrimSpace(string(value)) == s.bad {
			return fmt.Sprintf("this machine keeps users from making namespaces, which this needs: run as root, or allow it with `sudo sysctl %s=%s`", s.name, s.good)
		}
	}
	return ""
}

// archiveKeyring finds the keys that Debian's archive is signed with.
func archiveKeyring() (string, error) {
	for _, name := range []string{"gpg", "pgp"} {
		path := "/usr/share/keyrings/debian-archive-keyring." + name
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the keys of Debian's archive (package debian-archive-keyring) are not installed; %s", installHint)
}

// LastLines returns the last n lines of a text, without blank ones.
func LastLines(text string, n int) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimRight(line, " \r\t"); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
