// Measures the rendered pages with real tools: Lighthouse with its phone
// profile, axe-core in both colour schemes, an HTML validator, and what goes
// over the wire. Arguments: the directory of the pages, where to leave
// site-figures.json and site-figures.md, and part of the names of the pages if not
// all are wanted. The status is 3 when something is less
// than perfect.
import { createServer } from 'node:http';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, normalize, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import * as chromeLauncher from 'chrome-launcher';
import lighthouse from 'lighthouse';
import puppeteer from 'puppeteer-core';
import { HtmlValidate } from 'html-validate';

const [pages, out, only = ''] = process.argv.slice(2);
const port = 9561;
const types = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml', '.xml': 'application/xml', '.json': 'application/json', '.png': 'image/png', '.txt': 'text/plain' };

// A static host as they are: compressing, and caching what has a digest in its name.
const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
  let body, status = 200;
  try {
    body = readFileSync(join(pages, path.endsWith(sep) ? path + 'index.html' : path));
  } catch {
    body = readFileSync(join(pages, '404.html'));
    status = 404;
  }
  const type = types[extname(path)] || (status === 404 || path.endsWith('/') ? types['.html'] : 'application/octet-stream');
  response.writeHead(status, {
    'Content-Type': type, 'Content-Encoding': 'gzip',
    'Cache-Control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Content-Security-Policy': "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'",
  });
  response.end(gzipSync(body));
}).listen(port, '127.0.0.1');

const browser = ['chromium', 'google-chrome', 'chromium-browser'].map(name => { try { return execFileSync('which', [name]).toString().trim(); } catch { return ''; } }).find(Boolean);
if (!browser) throw new Error('no chromium and no google-chrome on the PATH: run "make setup-test"');

const files = readdirSync(pages, { recursive: true }).filter(name => name.endsWith('.html')).sort();
const articles = files.filter(name => /^(zh|en)\/[^/]+\.html$/.test(name) || name === 'index.html' || /^[a-z]+\/runs\/index\.html$/.test(name)).filter(name => name.includes(only));
const perfect = { performance: 100, accessibility: 100, 'best-practices': 100, seo: 100 };
const results = [];
let bad = 0;
const complain = text => { bad++; console.error(text); };

const profile = mkdtempSync(join(tmpdir(), 'site-figures-'));
const chrome = await chromeLauncher.launch({ chromePath: browser, userDataDir: profile, chromeFlags: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const tabs = await puppeteer.connect({ browserURL: `http://127.0.0.1:${chrome.port}`, defaultViewport: { width: 390, height: 844 } });
for (const name of articles) {
  const url = `http://127.0.0.1:${port}/${name}`;
  const { lhr } = await lighthouse(url, { port: chrome.port, onlyCategories: Object.keys(perfect), logLevel: 'error' });
  const scores = Object.fromEntries(Object.keys(perfect).map(c => [c, Math.round(100 * lhr.categories[c].score)]));
  const row = {
    page: name, scores,
    bytes: lhr.audits['total-byte-weight'].numericValue,
    firstPaint: Math.round(lhr.audits['first-contentful-paint'].numericValue),
    largestPaint: Math.round(lhr.audits['largest-contentful-paint'].numericValue),
    blocking: Math.round(lhr.audits['total-blocking-time'].numericValue),
    shift: Number(lhr.audits['cumulative-layout-shift'].numericValue.toFixed(4)),
    elements: lhr.audits['dom-size'].numericValue,
  };
  for (const [c, want] of Object.entries(perfect)) {
    if (scores[c] < want) {
      const low = lhr.categories[c].auditRefs.filter(r => r.weight > 0 && lhr.audits[r.id].score !== null && lhr.audits[r.id].score < 0.995).map(r => `${r.id} ${lhr.audits[r.id].displayValue || ''}`);
      complain(`${name}: ${c} ${scores[c]}: ${low.join(', ')}`);
    }
  }
  row.violations = 0;
  for (const scheme of ['light', 'dark']) {
    const tab = await tabs.newPage();
    await tab.setBypassCSP(true);
    await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await tab.goto(url);
    await tab.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
    await tab.evaluate(axe);
    const found = await tab.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    for (const v of found.violations) {
      row.violations++;
      complain(`${name} (${scheme}): axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`);
    }
    await tab.close();
  }
  results.push(row);
  console.error(`${name}: ${Object.values(scores).join('/')}, ${row.violations} of axe`);
}
await tabs.disconnect();
await chrome.kill();
rmSync(profile, { recursive: true, force: true });
server.close();

const validator = new HtmlValidate({
  root: true, extends: ['html-validate:standard'],
  rules: { 'no-trailing-whitespace': 'off', 'long-title': 'off', 'no-raw-characters': 'off', 'void-style': 'off', 'doctype-style': 'off', 'attr-quotes': 'off', 'svg-focusable': 'off' },
});
let errors = 0;
for (const name of files) {
  const report = validator.validateStringSync(readFileSync(join(pages, name), 'utf8'));
  for (const result of report.results) {
    for (const m of result.messages) {
      errors++;
      if (errors <= 40) complain(`${name}:${m.line}: ${m.ruleId}: ${m.message}`);
    }
  }
}

const version = name => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
const chromium = execFileSync(browser, ['--version']).toString().match(/\d+\.\d+/)[0];
const kb = n => (n / 1000).toFixed(0);
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'site-figures.json'), JSON.stringify({ tools: { lighthouse: version('lighthouse'), axe: version('axe-core'), 'html-validate': version('html-validate'), chromium }, htmlErrors: errors, pages: results }, null, 1) + '\n');
writeFileSync(join(out, 'site-figures.md'), `# The pages in figures

Made by \`make site-figures\` with Lighthouse ${version('lighthouse')} (its phone: slow 4G, a CPU four times slower),
axe-core ${version('axe-core')} (WCAG 2.2 AA and best practices, light and dark, everything unfolded),
html-validate ${version('html-validate')} and Chromium ${chromium}, from a host that compresses with gzip.
Scores are of performance, accessibility, best practices and SEO. \`kB\` is all that goes over the wire.

| page | Lighthouse | kB | first paint | largest paint | blocking | shift | elements | axe |
|---|---|---|---|---|---|---|---|---|
${results.map(r => `| ${r.page} | ${Object.values(r.scores).join(' / ')} | ${kb(r.bytes)} | ${(r.firstPaint / 1000).toFixed(1)} s | ${(r.largestPaint / 1000).toFixed(1)} s | ${r.blocking} ms | ${r.shift} | ${r.elements} | ${r.violations} |`).join('\n')}

HTML errors: ${errors} in ${files.length} pages.
`);
process.exit(bad || errors ? 3 : 0);
