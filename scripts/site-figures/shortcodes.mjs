// References as shortcodes of hugo: what an author would write who had hugo alone.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

// reader gives a function that writes the references of Markdown as shortcodes for
// hugo, those of hugo-site/numbers, and the counts of references by what becomes of them:
//
//   numbers  hugo computes them from the samples
//   facts    hugo looks them up: parameters, versions, the machine, what programs said
//   given    are written as they are, as nobody measured them
//   claims   have the words of a claim that holds
//   left     print "…": slopes, ranges, intervals, thresholds, seconds of demonstrations
//   front    stand in the front matter, where hugo has no shortcodes
//
// Labels are written out in full, and lines of output that stand for several cases
// once for each, so that hugo has only to look cases up. Code and examples stay.
export function reader(results) {
  const runs = readdirSync(results).sort();
  const read = (run, name) => JSON.parse(readFileSync(join(results, run, name)));
  const told = new Map(runs.map(run => [run, read(run, 'run.json')]));
  const files = new Map(runs.flatMap(run => readdirSync(join(results, run))
    .filter(name => name !== 'run.json').map(name => [name.replace(/\.json$/, ''), read(run, name)])));
  const counts = { numbers: 0, facts: 0, given: 0, claims: 0, left: 0, front: 0 };

  // cases are the labels, as sorted JSON, of all cases that have the given ones.
  const cases = (experiment, labels) => [...new Set(files.get(experiment).cells
    .filter(cell => Object.entries(labels).every(([name, value]) => cell.labels[name] === value))
    .map(cell => JSON.stringify(Object.fromEntries(Object.entries(cell.labels).sort()))))];

  const shortcode = (name, params) => `{{< ${name} ${Object.entries(params).filter(([, value]) => value).map(([key, value]) => `${key}=\`${value}\``).join(' ')} >}}`;

  function written(reference, page, defaults) {
    const [body, ...rest] = reference.replace('\\|', '|').split('|');
    const [target, ...words] = body.trim().split(/\s+/);
    const [name, experiment = defaults.experiment] = target.split('/').reverse();
    if (experiment === 'given') return ['given', name];
    if (experiment === 'claim') return ['claims', reference.match(/holds=("[^"]*"|\S+)/)[1].replaceAll('"', '')];
    const sign = words.findIndex(word => word === ':' || word === '-');
    const pairs = all => Object.fromEntries(all.map(word => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]));
    const labels = { ...defaults.labels, ...pairs(sign < 0 ? words : words.slice(0, sign)) };
    const broker = alias => page.brokers[alias ?? 'current'] ?? alias;
    const of = { broker: 'brokers', client: 'clients', database: 'database', machine: 'machine' }[experiment];
    if (of) {
      const label = { brokers: broker(labels.broker), clients: labels.client }[of];
      const tells = run => (label ? told.get(run)[of].some(thing => thing.label === label) : told.get(run)[of]);
      return ['facts', shortcode('fact', { run: page.runs.findLast(tells) ?? runs.findLast(tells), of, label, name: name === 'memory' ? 'memory_bytes' : name })];
    }
    if (!files.has(experiment)) return ['left', '…'];
    if (name.startsWith('@')) return ['facts', shortcode('parameter', { exp: experiment, name: name.slice(1) })];

    const options = Object.fromEntries((rest[0] ?? '').trim().split(/\s+/).map(word => word.split('=')));
    const where = cases(experiment, { ...labels, broker: broker(labels.broker) });
    if (where.length !== 1 || 'slope' in options || 'interval' in options) return ['left', '…'];
    if (!files.get(experiment).metrics[name]) return ['facts', shortcode('said', { exp: experiment, name, where: where[0] })];
    const params = { exp: experiment, metric: name, where: where[0], digits: options.digits, unit: options.unit, bare: 'bare' in options && 'true',
      stat: ['min', 'max'].find(stat => stat in options), per: options.per && JSON.parse(where[0])[options.per] };
    if (sign >= 0) {
      const second = { ...labels, ...pairs(words.slice(sign + 1)) };
      const other = cases(experiment, { ...second, broker: broker(second.broker) });
      if (other.length !== 1) return ['left', '…'];
      params[words[sign] === ':' ? 'over' : 'less'] = other[0];
    }
    return ['numbers', shortcode('number', params)];
  }

  function shortcodes(markdown, declared) {
    const brokers = Object.fromEntries([...(declared.match(/^brokers:.*(\n +.*)*/m)?.[0] ?? '').matchAll(/(\w+): *"?(debian:\w+)/g)].map(([, alias, label]) => [alias, label]));
    const named = [...markdown.matchAll(/[\w-]+/g)].map(([name]) => files.get(name)?.run);
    const its = runs.filter(run => named.includes(run)); // runs of the experiments that the page names
    const replaced = (text, defaults, counted = true) => text.replace(/`[^`]*`|\$\{([^}]*)\}/g, (all, reference) => {
      if (!reference) return all; // code
      const [kind, short] = written(reference, { brokers, runs: its }, defaults);
      if (counted) counts[kind]++;
      return short;
    });
    const front = markdown.indexOf('\n---\n') + 5;
    counts.front += markdown.slice(0, front).split('${').length - 1;
    let fence = null;
    return markdown.slice(0, front) + markdown.slice(front).split('\n').map(line => {
      const opens = !fence && line.match(/^(`{3,})(\w*)(.*)/);
      if (opens) {
        const { experiment, each, ...labels } = Object.fromEntries(opens[3].trim().split(/\s+/).map(word => [word.split('=')[0], word.slice(word.indexOf('=') + 1)]));
        fence = { mark: opens[1], kind: opens[2], each, defaults: opens[2] === 'output' ? { experiment, labels } : {} };
        return line;
      }
      if (fence && line.startsWith(fence.mark)) {
        fence = null;
        return line;
      }
      if (!fence) return replaced(line, {});
      if (['markdown', 'yaml'].includes(fence.kind)) return line; // examples
      const { defaults, each } = fence;
      if (!each || !line.includes(`\${${each}}`)) return replaced(line, defaults);
      const values = each === 'broker' ? Object.keys(brokers) : [...new Set(cases(defaults.experiment, { ...defaults.labels, broker: brokers.current }).map(labels => JSON.parse(labels)[each]))];
      return values.map((value, i) => replaced(line.replaceAll(`\${${each}}`, each === 'broker' ? `\${broker/rabbitmq broker=${value}}` : value),
        { ...defaults, labels: { ...defaults.labels, [each]: value } }, i === 0)).join('\n');
    }).join('\n');
  }
  return { shortcodes, counts };
}
