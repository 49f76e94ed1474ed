// Package debian gives programs of Debian's archive a place to run: root file
// systems with chosen packages, processes in them that end with the process
// that started them, and data directories and ports that no two runs share.
package debian
