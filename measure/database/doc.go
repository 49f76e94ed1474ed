// Package database makes the MySQL servers that are measured: servers started
// in root file systems built from Debian's archive (package debian), and those
// that are already there and are given by DSN.
//
// A server of ours listens on the loopback interface only, has a data
// directory of its own, and ends with the process that started it, however
// that ends. Credentials are never part of a label, an error or a log line.
package database
