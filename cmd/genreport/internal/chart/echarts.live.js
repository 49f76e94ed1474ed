// A chart that answers: drawn in a reader's browser from the same option as the picture in the page, over that picture.
import { init } from 'echarts/core';
import { parsePlainText } from 'zrender/lib/graphic/helper/parseText.js';

// ECharts takes {name|text} in a tooltip for markup: a zero-width space keeps a text from being one.
const literal = (text) => String(text).replace(/\{/g, '{\u200b');

// broken puts a text into lines no wider than a width in px, by the measure that ECharts draws with, and at most four.
function broken(text, width) {
  const { lines } = parsePlainText(String(text), { width, overflow: 'break', font: '13px sans-serif' });
  return lines.length > 4 ? [...lines.slice(0, 3), `${lines[3].slice(0, -1)}…`] : lines;
}

const colors = { text: 'var(--chart-text, #24292f)', axis: 'var(--chart-axis, #8b949e)', shade: 'var(--chart-grid, #e4e7ea)', back: 'var(--chart-bg, #ffffff)' };

// A chart of so many points can be zoomed.
const zoomable = 24;

// niceStep is the smallest of 1, 2, 5, 10, … that leaves out enough labels.
function niceStep(least) {
  for (let power = 1; ; power *= 10) {
    for (const m of [1, 2, 5]) if (m * power >= least) return m * power;
  }
}

// inColumns puts the points from one up to another into at most so many columns, as genreport does with all of them: of each column the
// first, smallest, largest and last value, and a gap where one is missing.
function inColumns(all, from, to, most, series) {
  const points = to - from;
  const columns = Math.min(most, points);
  const begin = (c) => from + Math.floor((c * points) / columns);
  const column = (point) => { // outside of what is seen too
    let c = Math.floor(((point - from) * columns) / points);
    while (begin(c) > point) c--;
    while (begin(c + 1) <= point) c++;
    return c;
  };
  const each = Array.from({ length: columns }, (_, c) => [begin(c), begin(c + 1)]);
  const kept = (values, [start, end]) => {
    const have = [];
    for (let i = start; i < end; i++) if (values[i] !== null) have.push(i);
    if (!have.length) return have;
    const by = (better) => have.reduce((best, i) => (better(values[i], values[best]) ? i : best));
    return [...new Set([have[0], by((a, b) => a < b), by((a, b) => a > b), have[have.length - 1]])].sort((a, b) => a - b);
  };
  const lines = all.values.map((values) => each.flatMap((span, c) => {
    const data = kept(values, span).map((i) => ({ value: [c, values[i]] }));
    for (let i = span[0]; i < span[1]; i++) if (values[i] === null) return [...data, { value: [c, '-'] }];
    return data;
  }));
  const tips = all.values.map((values, s) => each.map((span) => {
    const those = kept(values, span).sort((a, b) => values[a] - values[b]).map((i) => all.tips[s][i]);
    if (!those.length) return all.tips[s][span[0]];
    const [low, high] = [those[0], those[those.length - 1]];
    return low === high ? low : `${low} – ${high}`;
  }));
  const data = each.map(() => '');
  const step = niceStep(points / 6);
  for (let i = Math.ceil(from / step) * step; i < to; i += step) data[column(i)] = all.categories[i];
  return {
    data,
    tips,
    categories: each.map(([start, end]) => all.categories[start] + (end - 1 > start ? `–${all.categories[end - 1]}` : '')),
    series: series.map((s, i) => {
      if (i < lines.length) return lines[i];
      return s.phases ? all.phases.map(([a, b]) => [column(a), column(b)]) : []; // the label of a missing line is seen in the whole
    }),
    begin,
  };
}

// show draws into an element of the page that lies over the picture and is as large. extras is what prepare took off the option.
// detail gives a promise of all points where there are more than the option has: see Detail.
// It returns what the page's script needs: how to move through the points, to zoom out, to follow a new size, and what is shown.
export function show(element, option, extras, width, height, detail) {
  const { names } = extras;
  let { tips, categories } = extras;
  let count = categories.length;
  const lines = option.series[0].type === 'line';
  const zooms = lines && count >= zoomable;
  const step = (option.xAxis[0].axisLabel.interval || 0) + 1;
  const hidden = new Set();
  let shown = -1; // the point whose tooltip is open

  // rows are what is told of a point, in the order of the legend: shown in short, said in full.
  const rows = (index, which) => names.map((name, i) => {
    const text = [tips[i][index]].flat();
    return { text: (name ? `${name}  ` : '') + (text[which] || text[0]), i };
  }).filter((row) => !hidden.has(row.i));

  option.series.forEach((s, i) => {
    s.clip = zooms;
    s.emphasis = { disabled: true }; // its colours are computed, and a custom property is none
    if (i >= names.length) s.tooltip = { show: false };
  });
  Object.assign(option.legend, { inactiveColor: colors.axis, inactiveBorderColor: colors.axis });
  option.tooltip = {
    trigger: 'axis',
    renderMode: 'richText', // drawn: an HTML one needs style elements, which the policy refuses
    confine: true,
    transitionDuration: 0,
    backgroundColor: colors.back,
    borderColor: colors.axis,
    borderWidth: 1,
    borderRadius: 3,
    shadowBlur: 0,
    shadowOffsetX: 0,
    shadowOffsetY: 0,
    padding: [6, 10],
    textStyle: { color: colors.text, fontSize: 13 },
    axisPointer: lines
      ? { type: 'line', lineStyle: { color: colors.axis, width: 1, type: 'solid' } }
      : { type: 'shadow', shadowStyle: { color: colors.shade, opacity: 0.5 }, z: 0 },
    formatter(params) {
      const first = params.find((p) => p.seriesIndex < names.length);
      if (!first) return '';
      const index = Array.isArray(first.value) ? first.value[0] : first.dataIndex;
      shown = index;
      const marker = (i) => (params.find((p) => p.seriesIndex === i) || { marker: '' }).marker;
      const lines = (text) => broken(text, width - 60).map(literal).join('\n'); // beside its padding and a marker
      return [lines(categories[index]), ...rows(index, 0).map((row) => marker(row.i) + lines(row.text))].join('\n');
    },
  };
  if (zooms && !detail) {
    option.dataZoom = [{
      type: 'inside', xAxisIndex: 0, filterMode: 'none', minValueSpan: 8, throttle: 50,
      // Dragging chooses a part, below; a finger scrolls the page.
      moveOnMouseMove: 'shift', moveOnMouseWheel: false, preventDefaultMouseMove: false,
    }];
  }

  const chart = init(element, null, { renderer: 'svg', width, height });
  if (detail) {
    option.xAxis[0].axisLabel.interval = (index) => option.xAxis[0].data[index] !== ''; // of columns, some have a name
  } else if (zooms && step > 1) {
    option.xAxis[0].axisLabel.interval = (index) => {
      const [from, to] = chart.getModel() ? chart.getModel().getComponent('xAxis').axis.scale.getExtent() : [0, count - 1];
      return index % niceStep((step * (to - from + 1)) / count) === 0;
    };
  }
  chart.setOption(option);

  const root = chart.getZr().dom;
  const tell = (type, detail) => root.dispatchEvent(new CustomEvent(type, { bubbles: true, detail }));
  const hide = () => {
    shown = -1;
    chart.dispatchAction({ type: 'hideTip' });
    chart.dispatchAction({ type: 'updateAxisPointer', currTrigger: 'leave' });
  };
  const grid = () => chart.getModel().getComponent('grid').coordinateSystem.getRect();
  const range = () => (zooms ? chart.getModel().getComponent('xAxis').axis.scale.getExtent() : [0, count - 1]);

  // to shows a point and says what it shows.
  const to = (index) => {
    const [low, high] = range();
    const at = Math.max(low, Math.min(high, index));
    const area = grid();
    chart.dispatchAction({ type: 'showTip', x: chart.convertToPixel({ xAxisIndex: 0 }, at), y: area.y + area.height / 2 });
    shown = at;
    return [categories[at], ...rows(at, 1).map((row) => row.text)].join('; ');
  };

  const zoomed = () => { const [a, b] = range(); return a > 0 || b < count - 1; };
  // zoom shows the points from one to another, both included; closer so many times as many of them, around the one in view.
  let zoom = (from, to) => chart.dispatchAction({ type: 'dataZoom', startValue: from, endValue: to });
  let whole = () => zoom(0, count - 1);
  let closer = (factor) => {
    const [a, b] = range();
    const middle = shown >= 0 ? shown : (a + b) / 2;
    const half = Math.max(4, ((b - a) / 2) * factor);
    zoom(Math.max(0, Math.round(middle - half)), Math.min(count - 1, Math.round(middle + half)));
  };
  chart.on('datazoom', () => tell('chartzoom', zoomed()));
  chart.on('legendselectchanged', ({ selected }) => {
    hidden.clear();
    names.forEach((_, i) => { if (selected[i] === false) hidden.add(i); });
    hide();
  });

  if (detail) {
    // A long chart is in columns. A part of it is put into columns anew, from all points, so that a column always is about a pixel.
    const { data } = option.xAxis[0];
    const most = count;
    const entire = { data, tips, categories, series: option.series.map((s) => s.data), begin: null };
    let now = entire;
    const apply = (next) => {
      now = next;
      ({ tips, categories } = next);
      count = categories.length;
      option.xAxis[0].data = next.data;
      option.series.forEach((s, i) => { s.data = next.series[i]; }); // what draws marks and phases reads them there
      hide();
      chart.setOption({ xAxis: [{ data: next.data }], series: next.series.map((points) => ({ data: points })) });
      tell('chartzoom', next !== entire);
    };
    // The first point of a column; of the one after the last, where the points end.
    const begin = (all, column) => (now.begin ? now.begin(column) : Math.floor((column * all.categories.length) / most));
    const part = (all, from, to) => {
      const total = all.categories.length;
      const first = Math.max(0, Math.min(from, Math.round((from + to) / 2) - 4, total - 8));
      const end = Math.min(total, Math.max(to, first + 8));
      apply(first === 0 && end === total ? entire : inColumns(all, first, end, most, option.series));
    };
    const later = (f) => detail().then(f, () => {}); // without a network the chart stays as it is
    whole = () => apply(entire);
    zoom = (from, to) => later((all) => part(all, begin(all, from), begin(all, to + 1)));
    closer = (factor) => later((all) => {
      const [a, b] = [begin(all, 0), begin(all, count)];
      const point = shown < 0 ? -1 : Math.floor((begin(all, shown) + begin(all, shown + 1)) / 2);
      const middle = point < 0 ? (a + b) / 2 : point;
      const half = ((b - a) / 2) * factor;
      part(all, Math.round(middle - half), Math.round(middle + half));
      if (point < 0) return;
      let column = 0;
      while (column + 1 < count && begin(all, column + 1) <= point) column++;
      to(column);
    });
    // What is under the pointer, or between the fingers, stays there.
    const around = (factor, x) => later((all) => {
      const column = Math.max(0, Math.min(count - 1, Math.round(chart.convertFromPixel({ xAxisIndex: 0 }, x))));
      const [a, point, b] = [0, column, count].map((c) => begin(all, c));
      part(all, Math.round(point - (point - a) * factor), Math.round(point + (b - point) * factor));
    });
    chart.getZr().on('mousewheel', (e) => {
      e.event.preventDefault();
      around(e.wheelDelta > 0 ? 0.8 : 1.25, e.offsetX);
    });
    chart.getZr().on('pinch', (e) => around(1 / e.pinchScale, e.pinchX));
  }

  if (zooms) {
    // Without Ctrl the wheel scrolls the page: ECharts would prevent that before it looks at keys.
    for (const type of ['wheel', 'mousewheel']) {
      element.addEventListener(type, (e) => { if (!e.ctrlKey) e.stopPropagation(); }, { capture: true, passive: true });
    }
    // Dragging over a part of the plot zooms to it. Fingers pinch.
    const zr = chart.getZr();
    const band = document.createElement('div');
    band.className = 'band';
    band.hidden = true;
    element.appendChild(band);
    let from = null;
    const place = (x) => {
      const area = grid();
      const end = Math.max(area.x, Math.min(area.x + area.width, x));
      Object.assign(band.style, {
        left: `${Math.min(from, end)}px`, width: `${Math.abs(end - from)}px`, top: `${area.y}px`, height: `${area.height}px`,
      });
      band.hidden = Math.abs(end - from) < 6;
      return end;
    };
    const touch = (e) => e.event && e.event.pointerType === 'touch' || e.event && String(e.event.type).startsWith('touch');
    zr.on('mousedown', (e) => {
      const area = grid();
      const inside = e.offsetX >= area.x && e.offsetX <= area.x + area.width && e.offsetY >= area.y && e.offsetY <= area.y + area.height;
      from = inside && !touch(e) && !e.event.shiftKey ? e.offsetX : null;
    });
    zr.on('mousemove', (e) => { if (from !== null) place(e.offsetX); });
    zr.on('mouseup', (e) => {
      if (from === null) return;
      const end = place(e.offsetX);
      if (!band.hidden) {
        const [a, b] = [from, end].sort((p, q) => p - q).map((x) => Math.round(chart.convertFromPixel({ xAxisIndex: 0 }, x)));
        if (b > a) zoom(Math.max(0, a), Math.min(count - 1, b));
      }
      from = null;
      band.hidden = true;
    });
    zr.on('dblclick', () => whole());
  }

  return {
    chart,
    to,
    hide,
    near: (x) => to(Math.round(chart.convertFromPixel({ xAxisIndex: 0 }, x))),
    first: () => range()[0],
    last: () => range()[1],
    at: () => shown,
    whole: () => { if (zooms) whole(); },
    closer: (factor) => { if (zooms) closer(factor); },
    toggle(i) {
      if (i < names.length && names.length > 1) chart.dispatchAction({ type: 'legendToggleSelect', name: String(i) });
    },
    visible: () => names.filter((_, i) => !hidden.has(i)),
  };
}
