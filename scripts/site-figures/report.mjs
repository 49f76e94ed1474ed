// What the figures say: the limits that they miss, and the text that shows them.

// limits of the first view of a page.
export const limits = {
  scores: { performance: 100, accessibility: 100, 'best-practices': 100, seo: 100 }, // Lighthouse's, at least
  bytes: 60000, // over the wire, headers included, at most
  blocking: 50, // milliseconds, less than
  shift: 0, // layout shift, at most
  hugo: 0.5, // of the time that hugo takes, at most; charts not counted
};

const count = n => n.toLocaleString('en-US');

// misses says which limits are missed, one sentence each: what, where, and by how
// much. The time of hugo, which is another on each machine, is none of them.
export function misses({ pages, fixture, otherPages, build }) {
  const all = [];
  for (const p of [...pages, fixture].filter(Boolean)) {
    const miss = text => all.push(`${p.page}: ${text}`);
    for (const [category, least] of Object.entries(limits.scores)) {
      if (p.scores[category] === null) miss(`Lighthouse gives no score for ${category}`);
      else if (p.scores[category] < least) miss(`Lighthouse gives ${p.scores[category]} for ${category}, ${least - p.scores[category]} less than ${least}`);
    }
    if (p.bytes > limits.bytes) miss(`${count(p.bytes)} bytes over the wire, ${count(p.bytes - limits.bytes)} more than ${count(limits.bytes)}`);
    if (p.blocking === null) miss('Lighthouse tells no blocking time');
    else if (p.blocking >= limits.blocking) miss(`it blocks for ${p.blocking} ms, and less than ${limits.blocking} ms are allowed`);
    if (p.shift > limits.shift) miss(`its layout shifts by ${p.shift}, and ${limits.shift} is allowed`);
    if (p.violations > 0) miss(`axe finds ${p.violations} violations`);
    if (p.htmlErrors > 0) miss(`${p.htmlErrors} HTML errors`);
    if (p.chartsWithoutScripts < p.charts) miss(`${p.charts - p.chartsWithoutScripts} of ${p.charts} charts are not there without scripts`);
  }
  if (fixture && fixture.charts !== 12) all.push(`${fixture.page}: ${fixture.charts} charts, and it should have 12`);
  if (otherPages.htmlErrors > 0) all.push(`${otherPages.htmlErrors} HTML errors in the ${otherPages.pages} other pages`);
  if (build && build.genreport.drawnAgain > 0) all.push(`genreport drew ${build.genreport.drawnAgain} of ${build.genreport.charts} charts again though nothing had changed`);
  return all;
}

const kB = n => (n / 1000).toFixed(n < 99950 ? 1 : 0);
const seconds = ms => (ms === null ? '–' : `${(ms / 1000).toFixed(1)} s`);
const scores = p => Object.values(p.scores).map(score => score ?? '–').join(' / ');
const shift = p => (p.shift === 0 ? '0' : p.shift.toFixed(4));

function beside(ours, theirs) {
  const rows = [
    ['Lighthouse', scores],
    ['over the wire', p => `${kB(p.bytes)} kB`],
    ['requests', p => p.requests],
    ['first paint', p => seconds(p.slowed.firstPaint)],
    ['largest paint', p => seconds(p.slowed.largestPaint)],
    ['blocking', p => `${count(p.slowed.blocking)} ms`],
    ['layout shift', shift],
    ['charts without scripts', p => `${p.chartsWithoutScripts} of ${p.charts}`],
    ['elements', p => count(p.elements)],
    ['found by axe', p => p.violations],
    ['HTML errors', p => p.htmlErrors],
  ];
  return `| | genreport | go-echarts |\n|---|---|---|\n${rows.map(([name, show]) => `| ${name} | ${show(ours)} | ${show(theirs)} |`).join('\n')}\n`;
}

// verdict says whether the limit holds beside one of hugo's sites.
function verdict(ours, theirs, name) {
  const share = ours / theirs;
  return share <= limits.hugo
    ? `Beside hugo ${name} the limit is met: genreport takes ${share.toFixed(2)} times its time.`
    : `Beside hugo ${name} **the limit is not met**: genreport takes ${share.toFixed(2)} times its time.`;
}

function besideHugo({ rounds, undrawn, memory, markdown, hugo, hugoNumbers, genreport }) {
  const { numbers, facts, given, claims, left, front } = hugoNumbers.references;
  const split = Object.entries(genreport.parts).map(([part, ms]) => `${part} ${count(ms)} ms`);
  return `## Time to make the pages

Medians of ${rounds} rounds, in which hugo ${hugo.version} and \`genreport render\` took turns, each from nothing
and with its pages written to ${memory ? 'memory' : 'a disk'}.
All have the same ${markdown} files of Markdown, articles and other pages in both languages.

| | pages | time |
|---|---|---|
| hugo, without the numbers | ${hugo.pages} | ${count(hugo.ms)} ms |
| hugo, with the numbers put in by shortcodes | ${hugoNumbers.pages} | ${count(hugoNumbers.ms)} ms |
| genreport, all charts drawn before; charts not counted | ${genreport.pages} | ${count(genreport.ms)} ms |
| genreport, drawing the ${genreport.charts} charts, besides (median of ${undrawn}) | | ${count(genreport.chartsMs)} ms |

The limit is at most ${limits.hugo} times the time of hugo, charts not counted.
${verdict(genreport.ms, hugo.ms, 'without the numbers')}
${verdict(genreport.ms, hugoNumbers.ms, 'with the numbers')}
Of its median run genreport tells: ${split.join(', ')}. The rest is starting and ending.
With nothing changed ${genreport.drawnAgain === 0 ? 'no chart was' : `${genreport.drawnAgain} charts were`} drawn again.

No two of them do the same.

- **hugo, without the numbers** has a theme of one line: it turns the Markdown into HTML, leaves references as
  they are written, shows figures, tables, claims, output and demonstrations as code, and adds index pages and feeds.
- **hugo, with the numbers** reads the result files too, as its data, and has [shortcodes](hugo-site/numbers) in the place of
  references, also in what it shows as code. Of ${count(numbers + facts + given + claims + left + front)} references, ${count(numbers)} are medians, smallest or largest samples, ratios
  and differences that it computes from the samples (a few read "not measured", as there), and ${count(facts)} are parameters, versions and texts that it looks up; ${count(given)} given
  numbers and the words of ${count(claims)} claims are written in as they are. ${count(left)} print "…" (slopes, ranges, intervals, thresholds, seconds
  of demonstrations), and ${count(front)} in the front matter stay as they are. What it has easier: labels are written out in full, lines for several
  cases once for each, brokers by their names, and the run of each version is named.
  ${count(hugoNumbers.compared)} numbers of its paragraphs, items and rows, given ones among them, were compared with those of genreport,
  and agree but for rounding: it rounds to three digits where no number of them is asked for.
- **genreport** checks the Markdown and the result files, puts all numbers in place with digits by their intervals, decides the
  claims, and writes ${count(genreport.files)} files: pages with tables, figures, demonstrations and the samples behind each number, the numbers of each chart as CSV
  and JSON, lists of runs and feeds.
`;
}

// report is the text, in Markdown.
export function report(figures) {
  const { machine, tools, pages, fixture, goEcharts, otherPages, build, bytesOnDemand } = figures;
  const missed = misses(figures);
  const errors = [...pages, fixture].filter(Boolean).reduce((sum, p) => sum + p.htmlErrors, otherPages.htmlErrors);
  return [`# The pages in figures

Made by \`make site-figures\` with Lighthouse ${tools.lighthouse} (its phone: slow 4G, a CPU four times slower),
axe-core ${tools.axe} (WCAG 2.2 AA and best practices, light and dark, everything unfolded),
html-validate ${tools['html-validate']} and Chromium ${tools.chromium}, from a host that compresses with gzip.
Scores are of performance, accessibility, best practices and SEO. \`kB\` is all that goes
over the wire for the first view, headers included; 1 kB is 1,000 bytes. A page that misses a limit
of time is measured twice more, and the median counts. The machine has ${machine.cores} cores, and had a load of
${machine.load} before the first measurement.

Limits of each page: scores of 100, ${kB(limits.bytes)} kB, blocking below ${limits.blocking} ms, no layout shift, nothing found
by axe, no HTML error, and all charts without scripts. ${missed.length ? `**Missed:**

${missed.map(text => `- ${text}`).join('\n')}` : 'All are met.'}

| page | Lighthouse | kB | first paint | largest paint | blocking | shift | charts | elements | axe |
|---|---|---|---|---|---|---|---|---|---|
${pages.map(p => `| ${p.page.replace(/^site\//, '')} | ${scores(p)} | ${kB(p.bytes)} | ${seconds(p.firstPaint)} | ${seconds(p.largestPaint)} | ${p.blocking} ms | ${shift(p)} | ${p.charts} | ${count(p.elements)} | ${p.violations} |`).join('\n')}

HTML errors: ${errors} in ${pages.length + (fixture ? 1 : 0) + otherPages.pages} pages, those of the fixture included.
`,
  fixture && goEcharts && `## Twelve charts, here and as go-echarts writes them

An article with twelve charts over the committed results ([fixture](fixture)), and the page that go-echarts ${tools['go-echarts']}
writes by default for the same charts. That page asks another host for ECharts; only that host's name was
replaced, and ECharts ${tools.echarts}, the version that go-echarts names, came from the same server as all else.

${beside(fixture, goEcharts)}
Paints and blocking are measured with network and CPU slowed down in earnest, not simulated as above.${goEcharts.slowed.largestPaint === null ? `
Lighthouse takes no canvas for the largest paint, and so has no score of performance for the page of go-echarts.` : ''}

The two do not hold the same. The page of go-echarts has the charts alone, without intervals and phases,
drawn by its script for a desktop. The article has each chart twice, for wide and for narrow screens, with its numbers as a
table, and its prose and samples. There ECharts, another ${kB(bytesOnDemand)} kB, is loaded when a reader reaches for a
chart; on the page of go-echarts charts answer at once.
`,
  build && besideHugo(build)].filter(Boolean).join('\n');
}
