package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"genreport/measure/parallel"
)

// Recorded is a run with the results that were read beside it.
type Recorded struct {
	Run     Run
	Results map[string]Result // by experiment
	Files   map[string][]byte // as they were read, by name: run.json, EXPERIMENT.json
}

// Load reads every run in fsys, oldest first. methods gives the current method
// version of each experiment; a result of another version, or of an unknown
// experiment, is refused, since its numbers mean something else.
func Load(fsys fs.FS, methods map[string]int) ([]Recorded, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if !ValidRunID(e.Name()) {
			continue
		}
		if info, err := fs.Stat(fsys, e.Name()); err != nil || !info.IsDir() { // a link to a run is one
			continue
		}
		ids = append(ids, e.Name())
	}
	runs, err := together(fsys, ids, func(id string) (Recorded, error) { return LoadRun(fsys, id, methods) })
	slices.SortFunc(runs, func(a, b Recorded) int { return strings.Compare(a.Run.ID, b.Run.ID) })
	return runs, err
}

// together does the same to all names at once, since reading a file is work for
// one core. It gives what was made of those that had no error, in their order.
func together[T any](fsys fs.FS, names []string, do func(name string) (T, error)) ([]T, error) {
	made, errs := make([]T, len(names)), make([]error, len(names))
	size := func(i int) int {
		info, err := fs.Stat(fsys, names[i])
		if err != nil {
			return 0 // do tells
		}
		return int(info.Size())
	}
	parallel.Do(len(names), size, func(i int) { made[i], errs[i] = do(names[i]) })
	var out []T
	for i, err := range errs {
		if err == nil {
			out = append(out, made[i])
		}
	}
	return out, errors.Join(errs...)
}

// LoadRun reads one run; methods as for [Load].
func LoadRun(fsys fs.FS, id string, methods map[string]int) (Recorded, error) {
	return readRun(fsys, id, func(name string, r Result) error { return checkMethod(name, r, methods) })
}

// ReadRun reads one run whatever methods it was measured by, for those who
// show what is in the files and don't take it for what is measured today.
func ReadRun(fsys fs.FS, id string) (Recorded, error) {
	return readRun(fsys, id, func(string, Result) error { return nil })
}

func readRun(fsys fs.FS, id string, check func(name string, r Result) error) (Recorded, error) {
	rec := Recorded{Results: map[string]Result{}, Files: map[string][]byte{}}
	name := path.Join(id, "run.json")
	data, err := readFile(fsys, name, &rec.Run)
	if err != nil {
		return rec, err
	}
	rec.Files["run.json"] = data
	if rec.Run.ID != id {
		return rec, fmt.Errorf("%s:1: the run's id is %q, but it is in directory %q", name, rec.Run.ID, id)
	}
	files, err := fs.Glob(fsys, path.Join(id, "*.json"))
	if err != nil {
		return rec, err
	}
	files = slices.DeleteFunc(files, func(name string) bool { return path.Base(name) == "run.json" })
	type loaded struct {
		Result
		data []byte
	}
	results, err := together(fsys, files, func(name string) (loaded, error) {
		r, data, err := loadResult(fsys, name, rec.Run)
		if err == nil {
			err = check(name, r)
		}
		return loaded{r, data}, err
	})
	for _, r := range results {
		rec.Results[r.Experiment], rec.Files[r.Experiment+".json"] = r.Result, r.data
	}
	return rec, err
}

func loadResult(fsys fs.FS, name string, run Run) (r Result, data []byte, err error) {
	if data, err = readFile(fsys, name, &r); err != nil {
		return r, nil, err
	}
	if want := strings.TrimSuffix(path.Base(name), ".json"); r.Experiment != want {
		return r, nil, fmt.Errorf("%s:1: holds experiment %q; its name says %q", name, r.Experiment, want)
	}
	if r.Run != run.ID || r.Profile != run.Profile {
		return r, nil, fmt.Errorf("%s:1: belongs to run %s (%s), not to %s (%s)", name, r.Run, r.Profile, run.ID, run.Profile)
	}
	return r, data, nil
}

func checkMethod(name string, r Result, methods map[string]int) error {
	switch current, known := methods[r.Experiment]; {
	case !known:
		return fmt.Errorf("%s:1: unknown experiment %q; this genreport does not have it", name, r.Experiment)
	case r.Method < current:
		return fmt.Errorf("%s:1: measured by method %d of %s, and this genreport uses %d: measure again", name, r.Method, r.Experiment, current)
	case r.Method > current:
		return fmt.Errorf("%s:1: measured by method %d of %s, newer than this genreport's %d: update genreport", name, r.Method, r.Experiment, current)
	}
	return nil
}

// readFile reads and validates one file of a run.
func readFile(fsys fs.FS, name string, v interface{ Validate() error }) ([]byte, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if err = decodeStrict(name, data, v); err == nil {
		if err = v.Validate(); err == nil {
			return data, nil
		}
		err = fmt.Errorf("%s:1: %w", name, err)
	}
	if other := checkVersion(data, v); other != nil {
		err = fmt.Errorf("%s:1: %w", name, other)
	}
	return nil, err
}

// checkVersion tells of a text that can't be read into v whether it is one of
// another format: that has other keys, and "unknown key" would be the wrong
// message.
func checkVersion(data []byte, v any) error {
	var head struct {
		Format *int `json:"format"`
		Method *int `json:"method"`
	}
	if jsonv2.Unmarshal(bytes.TrimPrefix(data, byteOrderMark), &head, jsonv2.MatchCaseInsensitiveNames(true)) != nil {
		return nil
	}
	switch {
	case head.Format == nil:
		return errors.New("it does not say its format; is it a result file of genreport?")
	case *head.Format < Format:
		return fmt.Errorf("format %d is older than this genreport reads (%d): measure again", *head.Format, Format)
	case *head.Format > Format:
		return fmt.Errorf("format %d is newer than this genreport reads (%d): update genreport", *head.Format, Format)
	}
	if _, isResult := v.(*Result); isResult && head.Method == nil {
		return errors.New("it does not say the method it was measured by: restore it from version control or measure again")
	}
	return nil
}

// Writer writes the files of one run, and keeps others from it until Close.
type Writer struct {
	dir  string
	lock *os.File // the directory, locked; the kernel lets go of it however this process ends
}

// Create makes the directory of run under results. It refuses one that is
// there already, so that no run overwrites another.
func Create(results string, run Run) (Writer, error) {
	if err := run.Validate(); err != nil { // its id names the directory
		return Writer{}, fmt.Errorf("run %s: %w", run.ID, err)
	}
	if err := os.MkdirAll(results, 0o777); err != nil {
		return Writer{}, fmt.Errorf("making the results directory %s: %w", results, err)
	}
	w := Writer{dir: filepath.Join(results, run.ID)}
	exists := fmt.Errorf("run %s is already in %s: give another --run, or --resume to go on with it", run.ID, results)
	if _, err := os.Lstat(w.dir); err == nil {
		return Writer{}, exists
	}
	removeStale(results)
	// The directory appears with its run.json: one without would be an error to
	// whoever reads the results.
	tmp, err := os.MkdirTemp(results, tmpPattern)
	if err != nil {
		return Writer{}, fmt.Errorf("making the run's directory in %s: %w", results, err)
	}
	defer os.RemoveAll(tmp) // there no more when all went well
	if w.lock, err = lockDir(tmp); err != nil {
		return Writer{}, fmt.Errorf("locking the run's directory: %w", err)
	}
	fail := func(err error) (Writer, error) {
		w.Close()
		return Writer{}, err
	}
	if err := (Writer{dir: tmp}).WriteRun(run); err != nil {
		return fail(err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fail(fmt.Errorf("making the run's directory in %s: %w", results, err))
	}
	if err := os.Rename(tmp, w.dir); errors.Is(err, fs.ErrExist) { // not empty: another was faster
		return fail(exists)
	} else if err != nil {
		return fail(fmt.Errorf("making the run's directory: %w", err))
	}
	return w, nil
}

// Open goes on with a run that is there. It refuses one that another process
// writes, and removes what a killed one had not finished.
func Open(results, id string) (Writer, error) {
	if !ValidRunID(id) { // it names the directory
		return Writer{}, fmt.Errorf("run id %q is not of the form %s", id, runIDLayout)
	}
	w := Writer{dir: filepath.Join(results, id)}
	var err error
	switch w.lock, err = lockDir(w.dir); {
	case errors.Is(err, fs.ErrNotExist):
		return Writer{}, fmt.Errorf("there is no run %s in %s", id, results)
	case errors.Is(err, errLocked):
		return Writer{}, fmt.Errorf("run %s in %s is being measured by another process", id, results)
	case err != nil:
		return Writer{}, fmt.Errorf("opening run %s: %w", id, err)
	}
	removeStale(results)
	unfinished, _ := filepath.Glob(filepath.Join(w.dir, tmpPattern)) // nobody else writes here
	for _, file := range unfinished {
		if err := os.Remove(file); err != nil {
			w.Close()
			return Writer{}, fmt.Errorf("removing what was left unfinished in run %s: %w", id, err)
		}
	}
	return w, nil
}

// Close lets others go on with the run.
func (w Writer) Close() error {
	if w.lock == nil {
		return nil
	}
	return w.lock.Close()
}

// tmpPattern is how files and directories are called until they are whole.
const tmpPattern = ".tmp-*"

var errLocked = errors.New("locked by another process")

// lockDir locks a directory without a file in it.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, err
	}
	return f, nil
}

// removeStale removes the directories of runs that were killed before they had
// their run.json: nobody holds them, and nobody is about to.
func removeStale(results string) {
	dirs, _ := filepath.Glob(filepath.Join(results, tmpPattern))
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if lock, err := lockDir(dir); err == nil {
			os.RemoveAll(dir)
			lock.Close()
		}
	}
}

// Dir is where the run's files are.
func (w Writer) Dir() string { return w.dir }

// WriteRun validates and writes run.json.
func (w Writer) WriteRun(r Run) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("run %s: %w", r.ID, err)
	}
	return writeJSON(filepath.Join(w.dir, "run.json"), r)
}

// WriteResult validates and writes an experiment's file.
func (w Writer) WriteResult(r Result) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("result of %s: %w", r.Experiment, err)
	}
	return writeJSON(filepath.Join(w.dir, r.Experiment+".json"), r)
}

// writeJSON replaces the file in one step: whoever looks, at any moment, finds
// the old content or the new, whole.
func writeJSON(file string, v any) (err error) {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", filepath.Base(file), err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), tmpPattern)
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(file), err)
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
			err = fmt.Errorf("writing %s: %w", filepath.Base(file), err)
		}
	}()
	if _, err = tmp.Write(append(data, '\n')); err != nil {
		return err
	}
	if err = tmp.Chmod(0o644); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
