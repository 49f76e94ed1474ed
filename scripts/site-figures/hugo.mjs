// How long it takes to make the pages of all articles: hugo and genreport, from the
// same Markdown; hugo without the numbers, and with those that its own means can put in.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reader } from './shortcodes.mjs';

const rounds = 7;
const undrawn = 3; // of them draw all charts, which takes many times as long as all else

const found = (directory, ending) => readdirSync(directory, { recursive: true }).filter(name => name.endsWith(ending));
const middle = (all, of) => all.toSorted((a, b) => of(a) - of(b))[(all.length - 1) / 2];
const template = name => fileURLToPath(new URL(`hugo-site/${name}`, import.meta.url));

// buildTimes gives medians in milliseconds, over rounds in which hugo without the
// numbers, hugo with them, genreport with all charts drawn before, and genreport with
// none take turns. Each starts from nothing: no pages, and a process of its own. They
// write to memory where that is a directory, since new files take some disks many times
// as long in one directory as in another. It tells too what genreport says of the parts
// of its median run, and how many charts it drew again though nothing had changed.
export function buildTimes(genreport, content) {
  const memory = existsSync('/dev/shm');
  const work = mkdtempSync(join(memory ? '/dev/shm' : tmpdir(), 'site-figures-'));
  try {
    const pages = join(work, 'pages'), kept = join(work, 'kept'), none = join(work, 'none');
    const plain = join(work, 'plain'), numbers = join(work, 'numbers');
    const files = site(plain, content);
    const references = withNumbers(numbers, content);
    // timed gives the milliseconds of a program, and what it wrote to its standard error.
    const timed = (program, args, cache) => {
      rmSync(pages, { recursive: true, force: true });
      rmSync(none, { recursive: true, force: true });
      const start = process.hrtime.bigint();
      const { status, stderr, error } = spawnSync(program, args, { env: { ...process.env, XDG_CACHE_HOME: cache }, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
      const ms = Number(process.hrtime.bigint() - start) / 1e6;
      if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error ?? stderr}`);
      return { ms, stderr };
    };
    const hugo = source => timed('hugo', ['--quiet', '--source', source, '--destination', pages], none);
    const render = cache => {
      const { ms, stderr } = timed(genreport, ['render', '--timings', '--content', content, '--out', pages], cache);
      return { ms, ...parts(stderr) };
    };
    // made gives the HTML files of the run before, by the names of the Markdown files.
    const made = () => new Map(found(pages, '.html').map(name => [name.replace(/(\/index)?\.html$/, '.md'), readFileSync(join(pages, name), 'utf8')]));

    hugo(plain);
    const lacking = files.filter(name => !made().has(name));
    if (lacking.length) throw new Error(`hugo made no page of ${lacking.join(', ')}`);
    const plainPages = made().size;
    hugo(numbers);
    const hugos = made();
    render(kept);
    const compared = compare(hugos, made());
    const ours = { pages: found(pages, '.html').length, files: readdirSync(pages, { recursive: true }).filter(name => statSync(join(pages, name)).isFile()).length };
    const drawings = () => new Map(found(kept, '.drawing').map(name => {
      const { ino, mtimeMs } = statSync(join(kept, name));
      return [name, `${ino} ${mtimeMs}`];
    }));
    const before = drawings();

    const runs = { plain: [], numbers: [], kept: [], none: [] };
    for (let i = 0; i < rounds; i++) {
      runs.plain.push(hugo(plain));
      runs.numbers.push(hugo(numbers));
      runs.kept.push(render(kept));
      if (i < undrawn) runs.none.push(render(none));
    }
    const again = [...drawings()].filter(([name, file]) => before.get(name) !== file).length;
    const told = Math.max(...runs.kept.map(run => run.drawn));
    if (told !== again) throw new Error(`genreport tells of ${told} charts drawn again, and its cache of ${again}`);
    const median = (all, of) => Math.round(of(middle(all, of)));
    const apart = run => run.ms - run.parts.charts; // from charts
    return {
      rounds, undrawn, memory, markdown: files.length,
      hugo: { version: execFileSync('hugo', ['version']).toString().match(/v([\d.]+)/)[1], pages: plainPages, ms: median(runs.plain, run => run.ms) },
      hugoNumbers: { pages: hugos.size, ms: median(runs.numbers, run => run.ms), references, compared },
      genreport: { ...ours, ms: median(runs.kept, apart), parts: middle(runs.kept, apart).parts, charts: before.size, chartsMs: median(runs.none, run => run.parts.charts), drawnAgain: again },
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

// parts reads what genreport tells of its time: milliseconds of each part, and how
// many charts it drew.
function parts(stderr) {
  const line = stderr.match(/^timings: (.*); together \d+ ms$/m);
  const drawn = line?.[1].match(/\((\d+) drawn/);
  if (!drawn) throw new Error(`genreport render --timings tells none: ${stderr}`);
  return { drawn: Number(drawn[1]), parts: Object.fromEntries([...line[1].matchAll(/([a-z ]+?) (\d+) ms/g)].map(([, part, ms]) => [part.trim(), Number(ms)])) };
}

// site makes one for hugo of the same Markdown, with a theme of one line, and gives
// the names of its files, such as en/guide.md.
function site(into, content) {
  cpSync(template('plain'), into, { recursive: true });
  for (const lang of ['zh', 'en']) {
    cpSync(join(content, lang), join(into, 'content', lang), { recursive: true });
    cpSync(join(content, 'pages', lang), join(into, 'content', lang), { recursive: true });
  }
  return found(join(into, 'content'), '.md');
}

// withNumbers makes another, which has the result files too, and shortcodes in the
// place of references. It counts the references.
function withNumbers(into, content) {
  const files = site(into, content);
  cpSync(template('numbers'), into, { recursive: true });
  cpSync(join(content, 'results'), join(into, 'data', 'results'), { recursive: true });
  const { shortcodes, counts } = reader(join(content, 'results'));
  for (const name of files) {
    const markdown = readFileSync(join(into, 'content', name), 'utf8');
    const shared = join(content, name.replace(/^.*\//, '').replace(/md$/, 'yaml'));
    writeFileSync(join(into, 'content', name), shortcodes(markdown, existsSync(shared) ? readFileSync(shared, 'utf8') : markdown));
  }
  return counts;
}

// compare throws where hugo puts another number in a place than genreport does, and
// gives how many it has compared: of all paragraphs, items and rows that are the same
// but for the numbers in them. hugo rounds to three digits where genreport may round to
// two, so that they may differ by half of the last digit of each.
function compare(theirs, ours) {
  const number = /\d[\d,.]*\d|\d/g;
  // blocks gives the text and the numbers of each, by its words; null where two have the same.
  const blocks = html => [...html.matchAll(/<(p|li|tr)\b[^>]*>(.*?)<\/\1>/gs)].reduce((all, [, , inner]) => {
    const text = inner.replace(/<[^>]*>/g, '').replace(/&[#\w]+;/g, ' ').trim();
    const shape = text.replace(number, '#').replace(/[^\p{L}#…]/gu, '');
    return all.set(shape, all.has(shape) ? null : { text, numbers: text.match(number) ?? [] });
  }, new Map());
  const half = text => 10 ** -(text.split('.')[1]?.length ?? -text.match(/0*$/)[0].length) / 2;
  const same = (a, b) => {
    const [x, y] = [a, b].map(text => text.replaceAll(',', ''));
    return x === y || Math.abs(x - y) <= (half(x) + half(y)) * (1 + 1e-9);
  };
  let compared = 0;
  for (const [name, html] of theirs) {
    const mine = blocks(ours.get(name) ?? '');
    for (const [shape, block] of blocks(html)) {
      const other = mine.get(shape);
      if (!block || !other) continue;
      block.numbers.forEach((number, i) => {
        if (!same(other.numbers[i], number)) throw new Error(`${name}: hugo puts ${number} where genreport has ${other.numbers[i]}, in ${JSON.stringify(block.text)}`);
        compared++;
      });
    }
  }
  if (compared < 250) throw new Error(`only ${compared} numbers of hugo stand where genreport's do`);
  return compared;
}
