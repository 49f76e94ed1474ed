package runner

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"slices"

	"genreport/measure"
	"genreport/measure/database"
)

// needsDatabase reports whether an experiment of the cells asks for a database.
func needsDatabase(cells []cell) bool {
	return slices.ContainsFunc(cells, func(c cell) bool { return c.experiment.Database })
}

// checkPrograms finds the programs of this machine that experiments need and that
// are missing, before anything is started.
func checkPrograms(cells []cell) error {
	for _, c := range cells {
		for _, name := range c.experiment.Programs {
			if _, err := exec.LookPath(name); err != nil {
				return fmt.Errorf("%s needs %s, which is not installed: install it with `make setup` or `apt-get install %s`", c.experiment.Name, name, name)
			}
		}
	}
	return nil
}

// openDatabase starts or finds the database server and asks it what it is. In a
// run that goes on it must be the same as before.
func (r *runner) openDatabase(ctx context.Context) error {
	if err := r.startDatabase(ctx); err != nil {
		return err
	}
	info, err := r.database.Info(ctx)
	if err != nil {
		return fmt.Errorf("asking the database for its version: %w", err)
	}
	now := measure.Database{Label: r.database.Label(), Server: info.Server, Version: info.Version, Package: info.Package, Settings: info.Settings}
	if was := r.run.Database; was != nil && !reflect.DeepEqual(*was, now) {
		return fmt.Errorf("the database changed: it was %s %s, and is %s %s, or its settings changed: %w", was.Server, was.Version, now.Server, now.Version, errChanged)
	}
	r.run.Database = &now
	r.host.Log(fmt.Sprintf("the database is ready: %s %s", info.Server, info.Version))
	return nil
}

func (r *runner) startDatabase(ctx context.Context) error {
	db, err := r.newDatabase(ctx)
	if err != nil {
		return err
	}
	r.database = db
	return nil
}

func (r *runner) newDatabase(ctx context.Context) (*database.Database, error) {
	if r.host.Database.External() {
		return database.Connect(ctx, r.host.Database)
	}
	root, err := database.Ensure(ctx, r.host.Debian, r.host.Database)
	if err != nil {
		return nil, err
	}
	return database.Start(ctx, root, database.Options{})
}

// liveDatabase is the database for a cell; one of ours that has died is started
// anew.
func (r *runner) liveDatabase(ctx context.Context, c cell) (*database.Database, error) {
	if !c.experiment.Database {
		return nil, nil
	}
	if r.database != nil { // it was not where it could not be started again
		select {
		case <-r.database.Done(): // nil, so never, for one by DSN
		default:
			return r.database, nil
		}
		r.warnUser("the database had ended; starting it again")
		if err := r.closeDatabase(); err != nil {
			return nil, err
		}
		r.database = nil
	}
	if err := r.startDatabase(ctx); err != nil {
		return nil, err
	}
	return r.database, nil
}

func (r *runner) closeDatabase() error {
	if r.database == nil {
		return nil
	}
	return r.database.Stop()
}

// webAPI prepares a process of the application behind the web API.
func (r *runner) webAPI(ctx context.Context) (*exec.Cmd, error) {
	if len(r.host.WebAPI) == 0 {
		return nil, errors.New("this program has no command for the application")
	}
	return ownProcess(ctx, r.host.WebAPI), nil
}
