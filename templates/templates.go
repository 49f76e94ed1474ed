// Package templates holds what pages are made of: HTML templates, the style
// sheet, the icon and the script of demonstrations.
package templates

import "embed"

// FS has base.html (parts that every page uses), one template per kind of
// page, blocks.html and figure.html (parts of articles), card.html (what preview
// pictures are taken of), style.css, favicon.svg and the scripts page.js, demo.js
// and charts.js.
//
//go:embed *.html *.css *.svg *.js
var FS embed.FS
