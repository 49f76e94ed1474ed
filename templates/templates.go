// Package templates holds what pages are made of: HTML templates, the style
// sheet and the icon.
package templates

import "embed"

// FS has base.html (parts that every page uses), one template per kind of
// page, card.html (what preview pictures are taken of), style.css, page.js and
// favicon.svg.
//
//go:embed *.html *.css *.js *.svg
var FS embed.FS
