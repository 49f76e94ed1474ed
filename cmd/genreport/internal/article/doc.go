// Package article turns content into pages: Markdown and the declarations
// beside it, with every number taken from result files.
//
// The steps are:
//
//  1. [Load] reads content: site.yaml, SLUG.yaml (what the languages of an
//     article share) and LANG/SLUG.md (its wording);
//  2. [NewData] picks, for each experiment, the run that pages show;
//  3. [Content.Resolve] parses the Markdown, looks up every reference and
//     gives a [Page] without any left.
//
// A reference in text is ${experiment/metric label=value … | option …}. It is
// checked against the [Catalog] of what can be measured, so that a wrong one
// is an error with file and line, while a right one without a measurement
// reads "not measured (reason)". ref.go has the grammar.
package article
