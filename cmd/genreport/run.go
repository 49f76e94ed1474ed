package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // could not do it
	exitUsage  = 2 // wrong usage or input
	exitUnmet  = 3 // done, and something does not hold
)

const usage = `genreport measures RabbitMQ and publishes what it measured as static articles.

Usage: genreport [command] [flags]

  run          measure, then render (the default)
  measure      run experiments and write result files
  render       make the pages in public/ from content/ and its results
  serve        show the pages while they are written, and again after each change
  new          begin an article: genreport new article NAME
  check        tell what does not hold in content, results and pages
  show         print a run as tables
  compare      tell what changed between two runs, or between broker versions
  experiments  list what can be measured
  brokers      list root file systems that are cached and what the archive has

"genreport COMMAND --help" tells a command's flags. A first run:

  genreport run --profile quick      some minutes; pages in build/public
  genreport run --profile standard   for publishing; pages in public

Exit status: 0 fine, 1 it could not be done, 2 wrong usage or input,
3 done, but something does not hold (a measurement failed, a link is broken, runs
are not comparable).
`

// streams are where a command reads and writes: data to out, talk to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is one subcommand: it takes its arguments and does it.
type command struct {
	name string
	do   func(ctx context.Context, args []string, s streams) error
}

func commands() []command {
	return []command{
		{"run", runCommand},
		{"measure", measureCommand},
		{"render", renderCommand},
		{"serve", serveCommand},
		{"new", newCommand},
		{"check", checkCommand},
		{"show", showCommand},
		{"compare", compareCommand},
		{"experiments", experimentsCommand},
		{"brokers", brokersCommand},
		{"worker", workerCommand}, // the load client process; not for people
		{"webapi", webapiCommand}, // the web API's processes; not for people
	}
}

// endings are the signals that end a run in order. Under nohup a terminal that
// goes away is not one.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// run is the program: it returns the exit status.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	name := "run"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	} else if len(args) > 0 && isHelp(args[0]) {
		fmt.Fprint(out, usage)
		return exitOK
	}
	if name == "help" {
		fmt.Fprint(out, usage)
		return exitOK
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		err := c.do(ctx, args, streams{in: in, out: out, err: errOut})
		return status(err, name, seal(errOut, args))
	}
	fmt.Fprintf(seal(errOut, []string{name}), "genreport: unknown command %q\n\n%s", name, usage)
	return exitUsage
}

// seal is w without the arguments that may hold a password: an error that
// quotes a URL given in the wrong place must not repeat it.
func seal(w io.Writer, args []string) io.Writer {
	var pairs []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			_, a, _ = strings.Cut(a, "=")
		}
		for _, prefix := range []string{"", "debian:"} {
			secret := strings.TrimPrefix(a, prefix)
			if !strings.Contains(secret, "://") && !strings.Contains(secret, "@") {
				continue
			}
			quoted := strconv.Quote(secret)
			pairs = append(pairs, secret, "(not repeated: it may hold a password)", quoted[1:len(quoted)-1], "(not repeated: it may hold a password)")
		}
	}
	return sealed{w, strings.NewReplacer(pairs...)}
}

type sealed struct {
	w       io.Writer
	replace *strings.Replacer
}

func (s sealed) Write(p []byte) (int, error) {
	_, err := s.replace.WriteString(s.w, string(p))
	return len(p), err
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// usageError is wrong usage or input: exit status 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// unmetError is done, but something does not hold: exit status 3.
type unmetError struct{ err error }

func (e unmetError) Error() string { return e.err.Error() }
func (e unmetError) Unwrap() error { return e.err }

func status(err error, command string, errOut io.Writer) int {
	var usage usageError
	var unmet unmetError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(errOut, "genreport %s: %v\n", command, err)
		return exitUsage
	case errors.As(err, &unmet):
		fmt.Fprintf(errOut, "genreport %s: %v\n", command, err)
		return exitUnmet
	}
	fmt.Fprintf(errOut, "genreport %s: %v\n", command, err)
	return exitFailed
}

// parse reads flags that take no positional arguments.
func parse(fs *flag.FlagSet, args []string, s streams, about string) error {
	_, err := parseWith(fs, args, s, positional{}, about)
	return err
}

// positional is what a command takes beside its flags.
type positional struct {
	usage       string // such as "RUN [RUN]"
	least, most int
}

// parseWith reads flags and positional arguments in any order: who compares a
// run adds --by at the end.
func parseWith(fs *flag.FlagSet, args []string, s streams, p positional, about string) ([]string, error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	wrong := func(err error) ([]string, error) {
		return nil, usageError{fmt.Errorf("%w; see `genreport %s --help`", err, fs.Name())}
	}
	var given []string
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			usage := strings.TrimSpace(p.usage + " [flags]")
			fmt.Fprintf(s.out, "Usage: genreport %s %s\n\n%s\n\nFlags:\n", fs.Name(), usage, about)
			fs.SetOutput(s.out)
			fs.PrintDefaults()
			return nil, err
		}
		if err != nil {
			return wrong(err)
		}
		rest := fs.Args()
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" { // only arguments follow
			given = append(given, rest...)
			break
		}
		if len(rest) == 0 {
			break
		}
		given, args = append(given, rest[0]), rest[1:]
	}
	if len(given) > p.most {
		return wrong(fmt.Errorf("unexpected argument %q", given[p.most]))
	}
	if len(given) < p.least {
		return wrong(fmt.Errorf("it needs %s", p.usage))
	}
	return given, nil
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }
