// Measures the rendered pages with real tools: Lighthouse with its phone profile,
// axe-core in both colour schemes, an HTML validator, and a browser without scripts;
// the page of twelve charts beside the one that go-echarts writes for them; and how
// long hugo and genreport take. Arguments: the directory with site, fixture and
// go-echarts, where to leave site-figures.json and site-figures.md, and part of the
// names of the pages if not all are wanted. The status is 3 when a limit is missed.
import { createServer } from 'node:http';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as chromeLauncher from 'chrome-launcher';
import lighthouse from 'lighthouse';
import puppeteer from 'puppeteer-core';
import { HtmlValidate } from 'html-validate'; // the root's
import { buildTimes } from './hugo.mjs';
import { limits, misses, report } from './report.mjs';

const [made, out, only = ''] = process.argv.slice(2);
const here = name => fileURLToPath(new URL(name, import.meta.url));
const rootModule = name => here(`../../node_modules/${name}`);
const types = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml', '.xml': 'application/xml', '.json': 'application/json', '.png': 'image/png', '.txt': 'text/plain' };

// The page of go-echarts asks this host for ECharts; here it asks the server that all
// pages come from, which has the version that go-echarts names.
const assetHost = 'https://go-echarts.github.io';
const asset = '/go-echarts-assets/assets/echarts.min.js';
const foreign = 'go-echarts/index.html';

function read(path) {
  if (path === asset) return readFileSync(here('node_modules/echarts/dist/echarts.min.js'));
  const body = readFileSync(join(made, path));
  return path === `/${foreign}` ? Buffer.from(body.toString().replaceAll(assetHost, '')) : body;
}

// A static host as they are: compressing, and caching what has a digest in its name.
// Ours gives the policy of the README; the other page's scripts would not run with it.
const server = createServer((request, response) => {
  let path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
  if (path.endsWith(sep)) path += 'index.html';
  if (path === '/favicon.ico') { // of whoever names none
    response.writeHead(204).end();
    return;
  }
  let body, status = 200;
  try {
    body = read(path);
  } catch {
    [body, path, status] = [read('/site/404.html'), '/site/404.html', 404];
  }
  response.writeHead(status, {
    'Content-Type': types[extname(path)] || 'application/octet-stream', 'Content-Encoding': 'gzip',
    'Cache-Control': path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    ...(path === `/${foreign}` ? {} : { 'Content-Security-Policy': "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'" }),
  });
  response.end(gzipSync(body));
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
const host = `http://127.0.0.1:${server.address().port}`;

const browser = ['chromium', 'google-chrome', 'chromium-browser'].map(name => { try { return execFileSync('which', [name]).toString().trim(); } catch { return ''; } }).find(Boolean);
if (!browser) throw new Error('no chromium and no google-chrome on the PATH: run "make setup-test"');

const machine = { cores: cpus().length, load: Number(loadavg()[0].toFixed(1)) };
const build = only ? null : buildTimes('build/genreport', 'content');

const profile = mkdtempSync(join(tmpdir(), 'site-figures-'));
const chrome = await chromeLauncher.launch({ chromePath: browser, userDataDir: profile, chromeFlags: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
const tabs = await puppeteer.connect({ browserURL: `http://127.0.0.1:${chrome.port}`, defaultViewport: { width: 390, height: 844 } });
const axe = readFileSync(rootModule('axe-core/axe.min.js'), 'utf8');
const validator = new HtmlValidate(JSON.parse(readFileSync(here('../html-validate.json'))));

async function inTab(url, prepare, look) {
  const tab = await tabs.newPage();
  try {
    await prepare(tab);
    await tab.goto(url);
    return await look(tab);
  } finally {
    await tab.close();
  }
}

// How many charts a reader sees.
const shown = () => [...document.querySelectorAll('figure.chart svg, .item canvas')].filter(e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0; }).length;

// htmlErrors gives the HTML errors of a page, each with its place.
const htmlErrors = name => validator.validateStringSync(readFileSync(join(made, name), 'utf8')).results
  .flatMap(r => r.messages.map(m => `${name}:${m.line}: ${m.ruleId}: ${m.message}`));

// lighthouseOn gives Lighthouse's result.
async function lighthouseOn(name, options) {
  const { error } = console;
  if (name === foreign) console.error = () => {}; // it tells at length that canvases are no largest paint
  try {
    const { lhr } = await lighthouse(`${host}/${name}`, { port: chrome.port, disableFullPageScreenshot: true, logLevel: 'error', ...options });
    if (lhr.runtimeError) throw new Error(`Lighthouse on ${name}: ${lhr.runtimeError.message}`);
    return lhr;
  } finally {
    console.error = error;
  }
}

// steadily gives Lighthouse's result of one of our pages: where it misses a limit of
// time, the one of three whose blocking is the median, since another process may have
// been in its way.
async function steadily(name) {
  const options = { onlyCategories: Object.keys(limits.scores) };
  const all = [await lighthouseOn(name, options)];
  const missed = lhr => lhr.categories.performance.score < 1 || timings(lhr).blocking >= limits.blocking;
  if (name !== foreign && missed(all[0])) all.push(await lighthouseOn(name, options), await lighthouseOn(name, options));
  return all.sort((a, b) => timings(a).blocking - timings(b).blocking)[(all.length - 1) / 2];
}

// timings are in milliseconds; null is what Lighthouse can't tell of a page.
function timings(lhr) {
  const ms = audit => (lhr.audits[audit].score === null ? null : Math.round(lhr.audits[audit].numericValue));
  return { firstPaint: ms('first-contentful-paint'), largestPaint: ms('largest-contentful-paint'), blocking: ms('total-blocking-time') };
}

// measured gives the figures of a page; what is wrong with it is in `why`.
async function measured(name) {
  const url = `${host}/${name}`;
  const lhr = await steadily(name);
  const scores = {}, why = [];
  for (const category of Object.keys(limits.scores)) {
    const { score } = lhr.categories[category];
    scores[category] = score === null ? null : Math.round(100 * score);
    const low = lhr.categories[category].auditRefs.map(r => ({ ...r, ...lhr.audits[r.id] })).filter(a => a.weight > 0 && a.score !== null && a.score < 0.995);
    if (scores[category] < limits.scores[category]) why.push(`${category}: ${low.map(a => `${a.id} ${a.displayValue || ''}`.trim()).join(', ')}`);
  }
  let violations = 0;
  for (const scheme of ['light', 'dark']) {
    const found = await inTab(url, async tab => {
      await tab.setBypassCSP(true);
      await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    }, async tab => {
      await tab.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
      await tab.evaluate(axe);
      return tab.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'] }));
    });
    violations += found.violations.length;
    why.push(...found.violations.map(v => `axe, ${scheme}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`));
  }
  const [charts, elements] = await inTab(url, async () => {}, async tab => [await tab.evaluate(shown), await tab.evaluate(() => document.querySelectorAll('*').length)]);
  const chartsWithoutScripts = await inTab(url, tab => tab.setJavaScriptEnabled(false), tab => tab.evaluate(shown));
  const errors = htmlErrors(name);
  why.push(...errors.slice(0, 40));
  return {
    page: name, scores,
    bytes: lhr.audits['total-byte-weight'].numericValue, requests: lhr.audits['network-requests'].details.items.length,
    ...timings(lhr), shift: lhr.audits['cumulative-layout-shift'].numericValue,
    elements, violations, htmlErrors: errors.length, charts, chartsWithoutScripts, why,
  };
}

const html = directory => readdirSync(join(made, directory), { recursive: true }).filter(name => name.endsWith('.html')).map(name => `${directory}/${name}`).sort();
const wanted = html('site').filter(name => /^site\/((zh|en)\/([^/]+|runs\/index)|index)\.html$/.test(name));
const fixture = 'fixture/en/twelve-charts.html';
const rows = {};
try {
  for (const name of [...wanted, fixture, foreign].filter(name => name.includes(only))) {
    const row = rows[name] = await measured(name);
    // Lighthouse's simulation fails on a page of canvases, so that these two are
    // compared with the network and the CPU slowed down in earnest.
    if (name === fixture || name === foreign) row.slowed = timings(await lighthouseOn(name, { onlyCategories: ['performance'], throttlingMethod: 'devtools' }));
    console.error(`${name}: ${Object.values(row.scores).join('/')}, ${row.bytes} bytes, ${row.violations} of axe`);
    if (name !== foreign) row.why.forEach(text => console.error(`  ${text}`));
    delete row.why;
  }
} finally {
  await tabs.disconnect();
  await chrome.kill();
  rmSync(profile, { recursive: true, force: true });
  server.close();
}

// Pages that are not measured, such as those of earlier runs, are valid too.
const others = [...html('site'), ...html('fixture')].filter(name => !rows[name]);
const otherErrors = others.flatMap(htmlErrors);
otherErrors.slice(0, 40).forEach(text => console.error(text));

const version = path => JSON.parse(readFileSync(join(path, 'package.json'))).version;
const onDemand = readdirSync(join(made, 'fixture/assets')).find(name => /^echarts\..*\.js$/.test(name));
const figures = {
  machine,
  tools: {
    lighthouse: version(here('node_modules/lighthouse')), axe: version(rootModule('axe-core')), 'html-validate': version(rootModule('html-validate')),
    chromium: execFileSync(browser, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString().match(/\d+\.\d+/)[0],
    'go-echarts': execFileSync('go', ['list', '-m', '-f', '{{.Version}}', 'github.com/go-echarts/go-echarts/v2']).toString().trim().slice(1),
    echarts: version(here('node_modules/echarts')),
  },
  pages: wanted.map(name => rows[name]).filter(Boolean),
  otherPages: { pages: others.length, htmlErrors: otherErrors.length },
  fixture: rows[fixture], goEcharts: rows[foreign],
  bytesOnDemand: gzipSync(readFileSync(join(made, 'fixture/assets', onDemand))).length,
  build,
};
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'site-figures.json'), JSON.stringify(figures, null, 1) + '\n');
writeFileSync(join(out, 'site-figures.md'), report(figures));
const missed = misses(figures);
missed.forEach(text => console.error(text));
process.exit(missed.length ? 3 : 0);
