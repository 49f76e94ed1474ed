package debian

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// testImage is in shape what the broker's is.
func testImage() Image {
	return Image{
		Packages: []string{"rabbitmq-server", "python3-pika"}, Version: "rabbitmq-server",
		Files: []string{"usr/lib/rabbitmq/bin/rabbitmq-server", "usr/bin/python3", "etc/ssl/certs/ca-certificates.crt"},
		Dirs:  []string{"/var/lib/rabbitmq"}, Suites: []string{"bookworm", "trixie", "forky"}, Recipe: 2,
	}
}

func TestChooseMirror(t *testing.T) {
	const cloud = "$(ORIGIN)|$(LABEL)|main|mirror+file:/etc/apt/mirrors/debian.list"
	tests := []struct{ name, targets, want string }{
		{"Debian", "Debian|Debian-Security|main|http://a/debian-security/\nDebian|Debian|contrib|http://c/debian/\nDebian|Debian|main|http://b/debian/\n", "http://b/debian"},
		{"Ubuntu", "Ubuntu|Ubuntu|main|http://a/ubuntu/\n", ""},
		{"third party", "Docker|Docker CE|main|https://a/linux/debian/\n", ""},
		{"before the first update", "$(ORIGIN)|$(LABEL)|main|http://s/debian-security/\n$(ORIGIN)|$(LABEL)|main|https://a/debian/\n", "https://a/debian"},
		{"cloud image", cloud, "https://first/debian"},
		{"cloud image without its file", strings.Replace(cloud, "debian.list", "none", 1), ""},
		{"disc", "Debian|Debian|main|cdrom:[Debian]/\n", ""},
		{"nothing", "", ""},
	}
	read := func(path string) ([]byte, error) {
		if path == "/etc/apt/mirrors/debian.list" {
			return []byte("# mirrors\nhttps://first/debian\thint\nhttps://second/debian\n"), nil
		}
		return nil, os.ErrNotExist
	}
	for _, tt := range tests {
		if got := chooseMirror(tt.targets, read); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestMirrorError(t *testing.T) {
	tests := []struct{ said, want string }{
		{"Ign:1 x\nErr:2 http://u:hush@m nosuch Release\n  404  Not Found\nE: The repository 'http://u:hush@m nosuch Release' does not have a Release file.", `has no suite "nosuch" (known good: bookworm, trixie, forky)`},
		{"E: Unable to locate package rabbitmq-server", "lacks a package"},
		{"Err:1 http://m x InRelease\n  Could not resolve 'm'", "can't be reached"},
		{"W: GPG error: NO_PUBKEY 123\nE: The repository is not signed.", "signature"},
		{"E: write - No space left on device", "disk is full"},
		{"E: invalid /etc/subuid: no entry", "uidmap"},
		{"E: something new", "something new"},
	}
	cause := errors.New("exit status 1")
	for _, tt := range tests {
		err := mirrorError(testImage(), "nosuch", "http://u:hush@m", tt.said, cause)
		if !strings.Contains(err.Error(), tt.want) || !errors.Is(err, cause) {
			t.Errorf("%q: %v", tt.said, err)
		}
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("the password is in %q", err)
		}
	}
}

// Only a build with a manifest of this recipe counts; all else is passed over.
func TestCachedTakesFinishedBuildsOnly(t *testing.T) {
	cache := t.TempDir()
	put := func(name, text string) {
		dir := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Join(dir, rootDir), 0o755); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	good := func(suite, version, built string) string {
		return `{"recipe":` + strconv.Itoa(testImage().Recipe) + `,"suite":"` + suite + `","package":"` + version + `","built":"` + built + `"}`
	}
	put("forky-1", good("forky", "1", "2026-01-01T00:00:00Z"))
	put("forky-2", good("forky", "2", "2026-02-01T00:00:00Z"))
	put("trixie-9", good("trixie", "9", "2025-01-01T00:00:00Z"))
	put("forky-3", "")
	put("forky-4", good("forky", "4", "2026-03-01T00:00:00Z")[:40])
	put("forky-5", strings.Replace(good("forky", "5", "2026-03-01T00:00:00Z"), `:2,`, `:1,`, 1))
	put(partialPrefix+"forky-6", good("forky", "6", "2026-03-01T00:00:00Z"))
	put("forky-7", good("forky", "7", "2026-03-01T00:00:00Z")+"{}")
	os.RemoveAll(filepath.Join(cache, "forky-8"))
	put("forky-8", good("forky", "8", "2026-03-01T00:00:00Z"))
	os.RemoveAll(filepath.Join(cache, "forky-8", rootDir))

	list, err := Debian{Cache: cache}.Cached(testImage())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, r.Suite+" "+r.Package)
	}
	if want := "forky 1,forky 2,trixie 9"; strings.Join(got, ",") != want {
		t.Errorf("cached: %v, want %s", got, want)
	}
	t.Setenv("PATH", t.TempDir()) // no tool is needed for what is cached
	r, err := Debian{Cache: cache}.Ensure(context.Background(), testImage(), "forky")
	if err != nil || r.Package != "2" || r.Dir != filepath.Join(cache, "forky-2", rootDir) {
		t.Errorf("newest of forky: %+v, %v", r, err)
	}
	_, err = Debian{Cache: cache}.Ensure(context.Background(), testImage(), "bookworm")
	if err == nil || !strings.Contains(err.Error(), "mmdebstrap, apt-get, apt-config, bwrap, tar") || !strings.Contains(err.Error(), "apt-get install mmdebstrap bubblewrap uidmap debian-archive-keyring") {
		t.Errorf("without tools: %v", err)
	}
	if list, err := (Debian{Cache: filepath.Join(cache, "none")}).Cached(testImage()); err != nil || len(list) != 0 {
		t.Errorf("no cache yet: %v, %v", list, err)
	}
}

// fakeBuilder puts a mmdebstrap into PATH that makes what finishRoot looks
// for. It counts its runs, and does what is said before and after.
func fakeBuilder(t *testing.T, before, after string) (d Debian, runs func() int) {
	t.Helper()
	if err := NeedTools("apt-get", "apt-config", "bwrap", "tar"); err != nil {
		t.Skip(err)
	}
	if _, err := archiveKeyring(); err != nil {
		t.Skip(err)
	}
	bin, count := t.TempDir(), filepath.Join(t.TempDir(), "runs")
	script := `#!/bin/sh
echo run "TMPDIR=$TMPDIR" "$@" >> ` + count + `
for a; do suite=$target; target=$mirror; mirror=$a; done
root=$target
test "$target" != - || root=$(mktemp -d)
` + before + `
mkdir -p "$root/usr/lib/rabbitmq/bin" "$root/usr/bin" "$root/usr/lib/python3/dist-packages/pika" "$root/var/lib/dpkg" "$root/etc/apt" "$root/etc/ssl/certs" || exit 1
touch "$root/usr/lib/rabbitmq/bin/rabbitmq-server" "$root/usr/lib/rabbitmq/bin/rabbitmqctl" "$root/usr/bin/python3" "$root/etc/ssl/certs/ca-certificates.crt"
echo "deb $mirror" > "$root/etc/apt/sources.list"
` + after + `
printf 'Package: rabbitmq-server\nStatus: install ok installed\nVersion: 1:7.0-1\n\n' > "$root/var/lib/dpkg/status"
test "$target" != - || tar -C "$root" -c .
`
	if err := os.WriteFile(filepath.Join(bin, "mmdebstrap"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	d = Debian{Cache: t.TempDir(), Mirror: "http://127.0.0.1:1/debian"}
	return d, func() int {
		data, _ := os.ReadFile(count)
		return strings.Count(string(data), "run TMPDIR="+d.Cache)
	}
}

func TestEnsureBuildsOnce(t *testing.T) {
	d, runs := fakeBuilder(t, "sleep 0.5", "")
	// Left by a build that was killed.
	left := filepath.Join(d.Cache, partialPrefix+"sid-123", rootDir, "usr")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, err := d.Ensure(context.Background(), testImage(), "sid")
			if err != nil || r.Package != "1:7.0-1" || r.Suite != "sid" || time.Since(r.Built) > time.Minute {
				t.Errorf("%+v, %v", r, err)
			}
		}()
	}
	wg.Wait()
	if n := runs(); n != 1 {
		t.Errorf("built %d times", n)
	}
	if names := cacheNames(t, d.Cache); names != "sid-1%3a7.0-1.recipe2 sid.lock" {
		t.Errorf("in the cache: %s", names)
	}
	r, _ := d.Ensure(context.Background(), testImage(), "sid")
	if _, err := os.Stat(filepath.Join(r.Dir, "etc/apt/sources.list")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the mirror's address is left in the root file system")
	}
	if hosts, err := os.ReadFile(filepath.Join(r.Dir, "etc/hosts")); err != nil || !strings.Contains(string(hosts), "127.0.0.1 localhost") {
		t.Errorf("hosts: %q, %v", hosts, err)
	}
}

// What mmdebstrap leaves when it is interrupted goes with the build.
func TestEnsureInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, runs := fakeBuilder(t, `mkdir "$TMPDIR/mmdebstrap.gpghome.x" || exit 1`, `test -e "$(dirname "$0")/go" || { touch "$(dirname "$0")/half"; sleep 60; }`)
	bin := filepath.Dir(mustLook(t, "mmdebstrap"))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for range 500 {
			if _, err := os.Stat(filepath.Join(bin, "half")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	begin := time.Now()
	if _, err := d.Ensure(ctx, testImage(), "sid"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if took := time.Since(begin); took > 9*time.Second {
		t.Errorf("it took %v to cancel", took)
	}
	if left := cacheNames(t, os.TempDir()) + cacheNames(t, d.Cache); left != "sid.lock" {
		t.Errorf("left behind: %s", left)
	}
	if list, err := d.Cached(testImage()); err != nil || len(list) != 0 {
		t.Errorf("an interrupted build is taken for finished: %v, %v", list, err)
	}
	if err := os.WriteFile(filepath.Join(bin, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Ensure(context.Background(), testImage(), "sid"); err != nil || runs() != 2 {
		t.Errorf("again: %v after %d runs", err, runs())
	}
}

func TestEnsureFails(t *testing.T) {
	tests := []struct{ name, before, after, want string }{
		{"unknown suite", `echo "E: The repository 'http://m sid Release' does not have a Release file." >&2; exit 25`, "", `the mirror has no suite "sid"`},
		{"half a system that claims success", "", `rm "$root/usr/bin/python3"`, "has no usr/bin/python3"},
		{"without authorities", "", `rm "$root/etc/ssl/certs/ca-certificates.crt"`, "has no etc/ssl/certs/ca-certificates.crt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := fakeBuilder(t, tt.before, tt.after)
			_, err := d.Ensure(context.Background(), testImage(), "sid")
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "Debian sid") {
				t.Errorf("got %v", err)
			}
			if names := cacheNames(t, d.Cache); names != "sid.lock" {
				t.Errorf("left in the cache: %s", names)
			}
		})
	}
	if _, err := (Debian{Mirror: "ftp://m"}).mirror(context.Background()); err == nil {
		t.Error("an ftp mirror is accepted")
	}
}

func TestInstalledVersion(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg"), 0o755); err != nil {
		t.Fatal(err)
	}
	status := "Package: a\nStatus: install ok installed\nVersion: 1\n\nPackage: b\nStatus: install ok unpacked\nVersion: 2\n"
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), []byte(status), 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := installedVersion(root, "a"); err != nil || v != "1" {
		t.Errorf("a: %q, %v", v, err)
	}
	for _, name := range []string{"b", "c"} {
		if v, err := installedVersion(root, name); err == nil {
			t.Errorf("%s: %q accepted", name, v)
		}
	}
}

func cacheNames(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func mustLook(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A new build takes the place of what is older and not in use.
func TestPrune(t *testing.T) {
	d, _ := fakeBuilder(t, "", "")
	var log []string
	d.Log = func(line string) { log = append(log, line) }
	put := func(suite, version string, recipe int, built time.Time) string {
		dir := filepath.Join(d.Cache, suite+"-"+version)
		if err := os.MkdirAll(filepath.Join(dir, rootDir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := writeManifest(dir, manifest{Recipe: recipe, Suite: suite, Package: version, Built: built}); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, rootDir)
	}
	recipe := testImage().Recipe
	past := time.Now().Add(-time.Hour)
	put("sid", "1-old", recipe, past)
	put("sid", "2-held", recipe, past.Add(2*time.Minute))
	put("sid", "3-recipe", recipe-1, past)
	running := put("sid", "4-running", recipe-1, past)
	put("sid", "5-newer", recipe+1, past)
	put("trixie", "6-other", recipe-1, past)

	held, err := d.Ensure(context.Background(), testImage(), "sid")
	if err != nil || held.Package != "2-held" {
		t.Fatalf("%+v, %v", held, err)
	}
	// As bwrap has it in its arguments.
	process := exec.Command("sh", "-c", "read line", "sh", "--ro-bind", running, "/")
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	made, err := d.ensure(context.Background(), testImage(), "sid", "1:7.0-1")
	stdin.Close()
	process.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if names := cacheNames(t, d.Cache); names != "sid-1%3a7.0-1.recipe2 sid-2-held sid-4-running sid-5-newer sid.lock trixie-6-other" {
		t.Errorf("in the cache: %s", names)
	}
	said := strings.Join(log, "\n")
	for _, want := range []string{
		"removed the older root file system of Debian sid with rabbitmq-server 1-old", "removed the older root file system of Debian sid with rabbitmq-server 3-recipe",
		"with rabbitmq-server 2-held, which is in use", "with rabbitmq-server 4-running, which is in use",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in the log:\n%s", want, said)
		}
	}
	runtime.KeepAlive(held)

	// The archive has promised another version than it gives: what runs from the build there goes on.
	again, err := d.ensure(context.Background(), testImage(), "sid", "1:7.0-2")
	if err != nil || again.Dir != made.Dir || !again.Built.Equal(made.Built) {
		t.Errorf("%+v, %v; want %+v", again, err, made)
	}
	held.use.Unlock()
	d.prune(d.Cache, testImage(), again)
	if names := cacheNames(t, d.Cache); names != "sid-1%3a7.0-1.recipe2 sid-5-newer sid.lock trixie-6-other" {
		t.Errorf("in the cache once nobody uses it: %s", names)
	}
	if _, ok := held.hold(); ok {
		t.Error("holds a build that is gone")
	}
}

// mmdebstrap's other user must be able to enter the directory.
func TestOpenToAll(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	for path := inner; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	open := openToAll(os.TempDir())
	if got := openToAll(inner); got != open {
		t.Errorf("all may enter: %v, below a directory where it is %v", got, open)
	}
	if err := os.Chmod(filepath.Dir(inner), 0o750); err != nil {
		t.Fatal(err)
	}
	if openToAll(inner) {
		t.Error("all may enter what lies in a directory closed to them")
	}
}

func TestNamespaceHint(t *testing.T) {
	const ubuntu, debian = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/proc/sys/kernel/unprivileged_userns_clone"
	tests := []struct {
		uid   int
		files map[string]string
		want  string
	}{
		{1000, map[string]string{ubuntu: "1\n"}, "run as root, or allow it with `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`"},
		{1000, map[string]string{debian: "0\n", ubuntu: "0\n"}, "run as root, or allow it with `sudo sysctl kernel.unprivileged_userns_clone=1`"},
		{1000, map[string]string{debian: "1\n", ubuntu: "0\n"}, ""},
		{1000, nil, ""},
		{0, map[string]string{ubuntu: "1\n", debian: "0\n"}, ""},
	}
	for _, tt := range tests {
		got := namespaceHintFor(tt.uid, func(path string) ([]byte, error) {
			if text, ok := tt.files[path]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		})
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("uid %d, %v: %q", tt.uid, tt.files, got)
		}
	}
	const hint = "run as root"
	for said, want := range map[string]bool{
		"E: unshare() failed: Operation not permitted": true, "newuidmap: write to uid_map failed": true, "E: something new": true,
		"I: running apt-get update...\nE: dpkg failed": false, "E: No space left on device": false,
	} {
		if got := mirrorRemedy(testImage(), "sid", said, hint) == hint; got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

// Two images in one cache, of the same suite, know nothing of each other.
func TestImagesApart(t *testing.T) {
	d, runs := fakeBuilder(t, "", "")
	ctx := context.Background()
	other := testImage()
	other.Name, other.Recipe = "other", 1
	first, err := d.Ensure(ctx, testImage(), "sid")
	if err != nil {
		t.Fatal(err)
	}
	left := partialPrefix + "sid-123" // another process builds that now
	if err := os.Mkdir(filepath.Join(d.Cache, left), 0o755); err != nil {
		t.Fatal(err)
	}
	second, err := d.Ensure(ctx, other, "sid")
	if err != nil || runs() != 2 || first.Dir == second.Dir {
		t.Fatalf("%+v, %v after %d runs", second, err, runs())
	}
	// A build of the other image that is older than both, and one of no image's recipe.
	for name, m := range map[string]manifest{
		"sid-0":         {Recipe: 2, Suite: "sid", Package: "0", Built: first.Built.Add(-time.Hour)},
		"other.sid-0":   {Image: "other", Recipe: 1, Suite: "sid", Package: "0", Built: first.Built.Add(-time.Hour)},
		"other.sid-00":  {Image: "other", Recipe: 0, Suite: "sid", Package: "0", Built: first.Built.Add(-time.Hour)},
		"another.sid-0": {Image: "another", Recipe: 1, Suite: "sid", Package: "0", Built: first.Built.Add(-time.Hour)},
	} {
		if err := os.MkdirAll(filepath.Join(d.Cache, name, rootDir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := writeManifest(filepath.Join(d.Cache, name), m); err != nil {
			t.Fatal(err)
		}
	}
	d.prune(d.Cache, other, second)
	if names := cacheNames(t, d.Cache); names != "another.sid-0 other.sid-1%3a7.0-1.recipe1 other.sid.lock "+left+" sid-0 sid-1%3a7.0-1.recipe2 sid.lock" {
		t.Errorf("in the cache: %s", names)
	}
	for _, image := range []Image{testImage(), other} {
		list, err := d.Cached(image)
		if want := map[string]int{"": 2, "other": 1}[image.Name]; err != nil || len(list) != want {
			t.Errorf("%q: %+v, %v", image.Name, list, err)
		}
	}
	if r, err := d.Ensure(ctx, testImage(), "sid"); err != nil || r.Dir != first.Dir || runs() != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// coreutils' stat names the kind of a file system.
func TestInMemory(t *testing.T) {
	for _, dir := range []string{"/dev/shm", t.TempDir(), "/proc", "/"} {
		out, err := exec.Command("stat", "-f", "-c", "%T", dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimSpace(string(out))
		if got, err := InMemory(dir); err != nil || got != (kind == "tmpfs" || kind == "ramfs") {
			t.Errorf("%s is %s: in memory %v, %v", dir, kind, got, err)
		}
	}
	if _, err := InMemory(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error of a directory that is not there")
	}
}
