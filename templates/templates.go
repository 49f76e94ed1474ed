// Package templates holds what pages are made of: HTML templates, the style
// sheet and the icon.
package templates

import "embed"

// FS has base.html (parts that every page uses), one template per kind of
// page, style.css and favicon.svg.
//
//go:embed *.html *.css *.svg
var FS embed.FS
