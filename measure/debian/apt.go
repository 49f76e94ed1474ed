package debian

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Available returns the version of the image's package that the archive has now
// for a suite. It downloads the suite's package index (some MB; nothing if
// it has not changed) into the cache; the machine's own apt state stays as it is.
func (d Debian) Available(ctx context.Context, image Image, suite string) (version string, err error) {
	if err := image.CheckSuite(suite); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("ask the archive for %s in Debian %s: %w", image.Version, suite, err)
		}
	}()
	if err := NeedTools("apt-get", "apt-cache", "apt-config"); err != nil {
		return "", err
	}
	keyring, err := archiveKeyring()
	if err != nil {
		return "", err
	}
	mirror, err := d.mirror(ctx)
	if err != nil {
		return "", err
	}
	cache, err := d.cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "apt", suite)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := WaitLock(ctx, filepath.Join(cache, "apt", suite+".lock"), nil)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	options, err := privateApt(dir, suite, mirror, keyring)
	if err != nil {
		return "", err
	}
	if out, err := runApt(ctx, "apt-get", append(options, "update")); err != nil {
		return "", mirrorError(image, suite, mirror, out, err)
	}
	out, err := runApt(ctx, "apt-cache", append(options, "show", "--no-all-versions", image.Version))
	if err != nil {
		return "", mirrorError(image, suite, mirror, out, err)
	}
	for _, line := range strings.Split(out, "\n") {
		if v, ok := strings.CutPrefix(line, "Version: "); ok {
			return v, nil
		}
	}
	return "", errors.New("apt-cache shows no version")
}

// privateApt makes apt's directories below dir and returns the options that
// keep it there. The machine's configuration still counts for proxies, its hooks don't.
func privateApt(dir, suite, mirror, keyring string) ([]string, error) {
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	files := map[string]string{
		"status":       "",
		"sources.list": fmt.Sprintf("deb [signed-by=%s] %s %s main\n", keyring, mirror, suite),
		"apt.conf":     "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n#clear Acquire::IndexTargets::deb::DEP-11;\n",
	}
	for name, text := range files {
		// Only the user reads it: a mirror's URL may hold a password.
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	set := []string{
		"Dir::State=" + dir,
		"Dir::State::lists=" + filepath.Join(dir, "lists"),
		"Dir::State::status=" + filepath.Join(dir, "status"),
		"Dir::Cache=" + dir,
		"Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=",
		"Dir::Etc::SourceList=" + filepath.Join(dir, "sources.list"),
		"Dir::Etc::SourceParts=/dev/null",
		"Dir::Etc::Preferences=/dev/null", "Dir::Etc::PreferencesParts=/dev/null",
		"Acquire::Check-Valid-Until=false",
		"Acquire::Languages=none",
		"Acquire::GzipIndexes=true",
		"APT::Sandbox::User=", // its user may not enter the cache
		"APT::Update::Error-Mode=any",
		"APT::Get::AllowUnauthenticated=false", "Acquire::AllowInsecureRepositories=false",
	}
	options := []string{"-c", filepath.Join(dir, "apt.conf")}
	for _, s := range set {
		options = append(options, "-o", s)
	}
	return options, nil
}

func runApt(ctx context.Context, name string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = aptEnviron(os.Environ())
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return string(out), ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return string(out), err
}

// aptEnviron is an environment in which apt speaks English and follows no
// configuration but the machine's own.
func aptEnviron(environ []string) []string {
	var env []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if name != "APT_CONFIG" && name != "LANG" && name != "LANGUAGE" && !strings.HasPrefix(name, "LC_") {
			env = append(env, e)
		}
	}
	// A user's path often lacks the administrator's directories, which dpkg's scripts need.
	return append(env, "LC_ALL=C.UTF-8", "PATH="+os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin")
}

// aptProxy returns the proxies of the machine's apt configuration, which
// mmdebstrap doesn't read, as environment variables.
func aptProxy(ctx context.Context) []string {
	var env []string
	for _, scheme := range []string{"http", "https"} {
		out, err := exec.CommandContext(ctx, "apt-config", "dump", "--no-empty", "--format", "%v", "Acquire::"+scheme+"::Proxy").Output()
		if proxy := strings.TrimSpace(string(out)); err == nil && strings.Contains(proxy, "://") && !strings.Contains(proxy, "\n") {
			env = append(env, scheme+"_proxy="+proxy)
		}
	}
	return env
}

// mirror returns the archive's URL: the one given, or the machine's own.
func (d Debian) mirror(ctx context.Context) (string, error) {
	if d.Mirror != "" {
		u, err := url.Parse(d.Mirror)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.ContainsAny(d.Mirror, " \t\n[]") {
			return "", errors.New("the given mirror is not an http:// or https:// URL")
		}
		return d.Mirror, nil
	}
	cmd := exec.CommandContext(ctx, "apt-get", "indextargets",
		"--format", "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)", "Created-By: Packages")
	cmd.Env = aptEnviron(os.Environ())
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask apt for its mirror: %w", err)
	}
	if m := chooseMirror(string(out), os.ReadFile); m != "" {
		return m, nil
	}
	return "", errors.New("apt on this machine uses no mirror of Debian; give one with --mirror URL or GENREPORT_MIRROR (signatures are checked whichever it is)")
}

// chooseMirror picks Debian's main archive from lines of
// origin|label|component|URI. Before the first `apt-get update` origin and
// label are not known yet; then the path tells.
func chooseMirror(targets string, readFile func(string) ([]byte, error)) string {
	for _, line := range strings.Split(targets, "\n") {
		f := strings.SplitN(line, "|", 4)
		if len(f) != 4 || f[2] != "main" {
			continue
		}
		uri := strings.TrimRight(mirrorFile(f[3], readFile), "/")
		if !strings.HasPrefix(uri, "http://") && !strings.HasPrefix(uri, "https://") {
			continue
		}
		unknown := f[0] == "" || strings.HasPrefix(f[0], "$(")
		if (f[0] == "Debian" && f[1] == "Debian") || (unknown && strings.HasSuffix(uri, "/debian")) {
			return uri
		}
	}
	return ""
}

// mirrorFile resolves mirror+file:PATH, which cloud images use, to the first URL in that file.
func mirrorFile(uri string, readFile func(string) ([]byte, error)) string {
	path, ok := strings.CutPrefix(uri, "mirror+file:")
	if !ok {
		return uri
	}
	path = "/" + strings.Trim(path, "/")
	data, err := readFile(path)
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(data), "\n") {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			return f[0]
		}
	}
	return ""
}

// mirrorError explains a failure of apt or mmdebstrap with what was said
// that matters, and what to do about it.
func mirrorError(image Image, suite, mirror, said string, err error) error {
	if u, parseErr := url.Parse(mirror); parseErr == nil && u.User != nil {
		said = strings.ReplaceAll(said, u.User.String()+"@", "")
	}
	var why []string
	for _, line := range strings.Split(said, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "E: ") || strings.HasPrefix(line, "Err:") || strings.Contains(line, "404") {
			why = append(why, line)
		}
	}
	text := LastLines(strings.Join(why, "\n"), 6)
	if text == "" {
		text = LastLines(said, 6)
	}
	return fmt.Errorf("%s: %w; it said:\n%s", mirrorRemedy(image, suite, said, NamespaceHint()), err, text)
}

func mirrorRemedy(image Image, suite, said, hint string) string {
	has := func(s string) bool { return strings.Contains(said, s) }
	switch {
	case has("does not have a Release file"), has("404"):
		return fmt.Sprintf("the mirror has no suite %q (known good: %s)", suite, image.known())
	case has("Unable to locate package"), has("No packages found"), has("has no installation candidate"):
		return fmt.Sprintf("suite %q lacks a package that is needed (known good: %s)", suite, image.known())
	case has("Could not resolve"), has("Could not connect"), has("Temporary failure"), has("Connection failed"):
		return "the mirror can't be reached: check the network, or give another with --mirror or GENREPORT_MIRROR"
	case has("NO_PUBKEY"), has("is not signed"), has("signatures"):
		return "the mirror's signature does not hold with Debian's keys: use another mirror, or update debian-archive-keyring"
	case has("No space left"):
		return "the disk is full: 1 GB must be free in the cache directory and in TMPDIR"
	case hint != "" && !has("I: running apt-get"): // nothing has run in a namespace yet
		return hint
	case has("/etc/subuid"), has("newuidmap"), has("unshare"):
		return "building without root needs the package uidmap and a line for this user in /etc/subuid and /etc/subgid"
	}
	return "check the network, the disk and the mirror"
}
