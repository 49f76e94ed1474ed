package database

import (
	"context"
	"errors"

	"genreport/measure/debian"
)

// MySQL and MariaDB are what a server can be.
const (
	MySQL   = "MySQL"
	MariaDB = "MariaDB"
)

// The one suite that has MySQL, and the one that is taken where it can't be had.
const (
	mysqlSuite    = "sid"
	fallbackSuite = "trixie"
)

// Images returns what root file systems of servers hold, by server. All of
// Debian's releases have MariaDB.
func Images() map[string]debian.Image {
	return map[string]debian.Image{MySQL: mysqlImage(), MariaDB: mariadbImage()}
}

func mysqlImage() debian.Image {
	return debian.Image{
		Name: "mysql", Packages: []string{"mysql-server-core"}, Version: "mysql-server-core",
		Files: []string{"usr/sbin/mysqld"}, Suites: []string{mysqlSuite}, Recipe: 1,
	}
}

func mariadbImage() debian.Image {
	return debian.Image{
		Name: "mariadb",
		// The client's package has a program that mariadb-install-db calls.
		Packages: []string{"mariadb-server-core", "mariadb-client-core"}, Version: "mariadb-server-core",
		Files:  []string{"usr/sbin/mariadbd", "usr/bin/mariadb-install-db", "usr/bin/my_print_defaults"},
		Suites: []string{fallbackSuite, "forky"}, Recipe: 1,
	}
}

// Image returns what is taken from a suite: MySQL from sid, else MariaDB.
func Image(suite string) debian.Image {
	if suite == mysqlSuite {
		return mysqlImage()
	}
	return mariadbImage()
}

// Ensure returns a root file system for a server of ours, and builds it if there
// is none (MySQL: about 30 s, 0.4 GB; MariaDB: 20 s, 0.2 GB). For a spec that
// names no suite it is MySQL's, or MariaDB's if MySQL can't be had: log is told
// why, and Info what it is.
func Ensure(ctx context.Context, d debian.Debian, s Spec) (debian.Rootfs, error) {
	if s.sealed != nil {
		return debian.Rootfs{}, errors.New("a database given by DSN has no root file system")
	}
	if s.Suite != "" {
		return d.Ensure(ctx, Image(s.Suite), s.Suite)
	}
	r, err := d.Ensure(ctx, mysqlImage(), mysqlSuite)
	if err == nil || ctx.Err() != nil {
		return r, err
	}
	if d.Log != nil {
		d.Log("MySQL can't be had, taking MariaDB: " + err.Error())
	}
	r, fallbackErr := d.Ensure(ctx, mariadbImage(), fallbackSuite)
	if fallbackErr != nil {
		return debian.Rootfs{}, errors.Join(err, fallbackErr)
	}
	return r, nil
}
