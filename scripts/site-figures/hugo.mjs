// How long it takes to make the pages of all articles: hugo and genreport, from the
// same Markdown.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const rounds = 7;
const undrawn = 3; // of them draw all charts, which takes many times as long as all else

const found = (directory, ending) => readdirSync(directory, { recursive: true }).filter(name => name.endsWith(ending));
const median = all => all.toSorted((a, b) => a - b)[(all.length - 1) / 2];

// buildTimes gives medians in milliseconds, over rounds in which hugo, genreport with
// all charts drawn before, and genreport with none take turns. Each starts from
// nothing: no pages, and a process of its own. It tells too how many charts the
// second drew again though nothing had changed.
export function buildTimes(genreport, content) {
  const work = mkdtempSync(join(tmpdir(), 'site-figures-'));
  try {
    const pages = join(work, 'pages'), kept = join(work, 'kept'), none = join(work, 'none');
    const files = site(work, content);
    const timed = (program, args, cache) => {
      rmSync(pages, { recursive: true, force: true });
      rmSync(none, { recursive: true, force: true });
      const start = process.hrtime.bigint();
      execFileSync(program, args, { env: { ...process.env, XDG_CACHE_HOME: cache }, stdio: ['ignore', 'ignore', 'pipe'] });
      return Number(process.hrtime.bigint() - start) / 1e6;
    };
    const hugo = () => timed('hugo', ['--quiet', '--source', work, '--destination', pages], none);
    const render = cache => timed(genreport, ['render', '--content', content, '--out', pages], cache);

    hugo();
    const made = found(pages, '.html');
    const lacking = files.filter(name => !made.includes(name.replace(/\.md$/, '/index.html')));
    if (lacking.length) throw new Error(`hugo made no page of ${lacking.join(', ')}`);
    render(kept);
    const ours = { pages: found(pages, '.html').length, files: readdirSync(pages, { recursive: true }).filter(name => statSync(join(pages, name)).isFile()).length };
    const drawings = () => new Map(found(kept, '.drawing').map(name => {
      const { ino, mtimeMs } = statSync(join(kept, name));
      return [name, `${ino} ${mtimeMs}`];
    }));
    const before = drawings();

    const ms = { hugo: [], kept: [], none: [] };
    for (let i = 0; i < rounds; i++) {
      ms.hugo.push(hugo());
      ms.kept.push(render(kept));
      if (i < undrawn) ms.none.push(render(none));
    }
    const again = [...drawings()].filter(([name, file]) => before.get(name) !== file).length;
    const whole = all => Math.round(median(all));
    return {
      rounds, undrawn, markdown: files.length,
      hugo: { version: execFileSync('hugo', ['version']).toString().match(/v([\d.]+)/)[1], pages: made.length, ms: whole(ms.hugo) },
      genreport: { ...ours, ms: whole(ms.kept), charts: before.size, chartsMs: whole(ms.none) - whole(ms.kept), drawnAgain: again },
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

// site makes one for hugo of the same Markdown, with a theme of one line, and gives
// the names of its files, such as en/guide.md.
function site(work, content) {
  for (const lang of ['zh', 'en']) {
    cpSync(join(content, lang), join(work, 'content', lang), { recursive: true });
    cpSync(join(content, 'pages', lang), join(work, 'content', lang), { recursive: true });
  }
  writeFileSync(join(work, 'config.toml'), 'baseURL = "https://example.org/"\ndisableKinds = ["taxonomy", "term"]\n');
  mkdirSync(join(work, 'layouts', '_default'), { recursive: true });
  for (const name of ['single', 'list']) {
    writeFileSync(join(work, 'layouts', '_default', name + '.html'), '<!DOCTYPE html><title>{{.Title}}</title>{{.Content}}\n');
  }
  return found(join(work, 'content'), '.md');
}
