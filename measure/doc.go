// Package measure is the format of measurement results and its rules.
//
// A run is a directory <results>/<run id>/ that holds run.json (what was
// planned, where and with what) and one file per experiment. The steps are:
//
//  1. the runner plans cells and fills a [Run];
//  2. each finished [Cell] is added to the [Result] of its experiment;
//  3. [Writer] validates and writes both, atomically, after every cell;
//  4. [Load] reads every run of a directory back, strictly, for rendering.
//
// Raw samples are stored and statistics are derived when rendering. Numbers
// are in base units (seconds, bytes, 1/second, counts). What was not measured
// is a null with a reason, never a zero. Every key is described in
// FORMAT.md beside this file.
package measure
