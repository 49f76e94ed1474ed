// Package templates holds what pages are made of: HTML templates, the style
// sheet and the icon.
package templates

import "embed"

// FS has base.html (parts that every page uses), one template per kind of
// page, figure.html, style.css, favicon.svg and charts.js.
//
//go:embed *.html *.css *.svg charts.js
var FS embed.FS
