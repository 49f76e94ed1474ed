/*!
 * Contains Apache ECharts, Copyright 2017-2026 The Apache Software Foundation (https://www.apache.org/), and zrender.
 * ECharts is licensed under the Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0);
 * zrender under the BSD 3-Clause License (https://github.com/ecomfe/zrender/blob/master/LICENSE).
 */
// The part of ECharts that genreport's charts use, bundled by `npm run bundle`. It runs inside genreport, which has no DOM, for the
// pictures in pages, and in the browser of a reader who reaches for a chart: one program, so that both draw the same.
// Functions can't travel in an option's JSON: an option names one of those below, so that no text of a report ever becomes code.
import { init, use } from 'echarts/core';
import { BarChart, CustomChart, LineChart } from 'echarts/charts';
import { DataZoomInsideComponent, GridComponent, LegendPlainComponent, TitleComponent, TooltipComponent } from 'echarts/components';
import { SVGRenderer } from 'echarts/renderers';
import LRU from 'zrender/lib/core/LRU.js';
import { platformApi } from 'zrender/lib/core/platform.js';
import { show } from './echarts.live.js';

use([BarChart, CustomChart, LineChart, DataZoomInsideComponent, GridComponent, LegendPlainComponent, TitleComponent, TooltipComponent, SVGRenderer]);

// Without a canvas ECharts estimates widths, in a browser too: by the same measure the layout is the same.
platformApi.createCanvas = () => null;

// Text can't be measured here and the reader's font is unknown. ECharts estimates Chinese well and takes Latin for Arial; some systems'
// sans is a sixth wider (DejaVu, Verdana).
const estimate = platformApi.measureText;
platformApi.measureText = (text, font) => {
  const latin = text.replace(/[^\x20-\u2e7f]/g, '');
  return { width: estimate(text, font).width + 0.15 * estimate(latin, font).width };
};

// ECharts caches texts' widths in plain objects, where a text like __proto__ finds, and changes, what all objects share.
const { get, put } = LRU.prototype;
LRU.prototype.get = function (key) { return get.call(this, `$${key}`); };
LRU.prototype.put = function (key, value) { return put.call(this, `$${key}`, value); };

const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

// crosses tells whether the line from one point to another goes through a box (Liang and Barsky).
function crosses([x1, y1], [x2, y2], box) {
  let from = 0;
  let to = 1;
  for (const [p, q] of [
    [x1 - x2, x1 - box.x], [x2 - x1, box.x + box.width - x1], [y1 - y2, y1 - box.y], [y2 - y1, box.y + box.height - y1],
  ]) {
    if (p === 0 && q < 0) return false;
    if (p < 0) from = Math.max(from, q / p);
    if (p > 0) to = Math.min(to, q / p);
  }
  return from <= to;
}

// hatch is the pattern of a bar, so that colour isn't needed to tell it from its neighbours: the directions of its lines, clipped to
// its box.
function hatch(directions, box) {
  let d = '';
  const gap = 7;
  const { x, y, width, height } = box;
  if (height < 2) return d;
  const bottom = y + height;
  for (const direction of directions || '') {
    if (direction === '-') {
      for (let at = bottom - gap; at > y + 1; at -= gap) d += `M${x} ${at}h${width}`;
    } else if (direction === '|') {
      for (let at = x + width / 2 % gap; at < x + width - 1; at += gap) if (at > x + 1) d += `M${at} ${y}V${bottom}`;
    } else {
      for (let at = gap; at < width + height; at += 1.4 * gap) {
        // From the lower edge or the far side up to the near side or the upper edge, at 45 degrees.
        const [x1, y1] = at < width ? [at, 0] : [width, at - width];
        const [x2, y2] = at < height ? [0, at] : [at - height, height];
        const across = (v) => (direction === '/' ? x + width - v : x + v);
        d += `M${across(x1)} ${bottom - y1}L${across(x2)} ${bottom - y2}`;
      }
    }
  }
  return d;
}

// obstacles are what labels on lines had better not cover: symbols and whiskers, and the lines between them.
function obstacles(option, api) {
  const boxes = [];
  const lines = [];
  option.series.forEach((s) => {
    if (s.type === 'line') {
      let last = null;
      s.data.forEach((item, i) => {
        const [x, y] = Array.isArray(item.value) ? item.value : [i, item.value];
        const at = y === '-' ? null : api.coord([x, y]);
        if (at) {
          const r = (s.symbolSize || 0) / 2;
          boxes.push({ x: at[0] - r, y: at[1] - r, width: 2 * r, height: 2 * r });
          if (last) lines.push([last, at]);
        }
        last = at;
      });
    } else if (s.marks) {
      (s.data || []).forEach(([i, low, high]) => {
        if (low === null) return;
        const [x, y] = api.coord([i, high]);
        boxes.push({ x: x - s.marks.cap, y, width: 2 * s.marks.cap, height: api.coord([i, low])[1] - y });
      });
    }
  });
  return { boxes, lines };
}

// marks draws what belongs to a data point beside its bar or symbol: the whisker from smallest to largest sample, and its label.
// A point is [category, low, high, value]. shared lasts for the drawing of one figure.
function marks(series, labels, option, shared) {
  const m = series.marks;
  return (params, api) => {
    const [i, low, high, value] = series.data[params.dataIndex];
    const name = labels[params.dataIndex];
    const missing = value === null;
    const [centre, zero] = api.coord([i, 0]);
    let x = centre;
    const children = [];
    if (m.bars) {
      // The same arithmetic as ECharts' own bars, of those that the legend shows.
      const bars = api.currentSeriesIndices().filter((n) => n < m.bars);
      const n = bars.length;
      const width = Math.min(m.maxWidth, (api.size([1, 0])[0] * (1 - m.categoryGap)) / (n + (n - 1) * m.gap));
      x += width * ((1 + m.gap) * (bars.indexOf(m.slot) - (n - 1) / 2));
      const end = missing ? zero : api.coord([i, value])[1];
      const d = hatch(m.hatch, { x: x - width / 2, y: Math.min(zero, end), width, height: Math.abs(zero - end) });
      if (d) children.push({ type: 'path', shape: { pathData: d }, style: { fill: 'none', stroke: m.background, lineWidth: 1.25, strokeOpacity: 0.6 } });
    }
    let top = missing ? zero : api.coord([i, value])[1];
    let bottom = top;
    if (low !== null) {
      const y1 = api.coord([i, high])[1];
      const y2 = api.coord([i, low])[1];
      top = Math.min(top, y1);
      bottom = Math.max(bottom, y2);
      const c = m.cap;
      const pathData = `M${x} ${y1}L${x} ${y2}M${x - c} ${y1}L${x + c} ${y1}M${x - c} ${y2}L${x + c} ${y2}`;
      const line = (stroke, lineWidth) => ({ type: 'path', shape: { pathData }, style: { fill: 'none', stroke, lineWidth } });
      if (m.rim) children.push(line(m.background, 3));
      children.push(line(m.color, 1.25));
    }
    if (name) {
      const width = platformApi.measureText(name, `${m.fontSize}px sans-serif`).width;
      const length = m.rotate ? width : m.fontSize;
      const breadth = m.rotate ? m.fontSize : width;
      const place = (below) => {
        const y = below ? bottom + m.distance : top - m.distance;
        return { y, below, box: { x: x - breadth / 2, y: below ? y : y - length, width: breadth, height: length } };
      };
      const down = !missing && value < 0;
      let spot = place(down);
      // A bar has a place of its own; on lines take the better side, or leave the label out.
      if (!m.bars) {
        const visible = api.currentSeriesIndices().join();
        if (shared.visible !== visible) Object.assign(shared, { visible, obstacles: obstacles(option, api) });
        const { boxes, lines } = shared.obstacles;
        const free = [spot, place(!down)].filter(({ box }) => !boxes.some((b) => overlap(b, box)));
        spot = free.find(({ box }) => !lines.some(([a, b]) => crosses(a, b, box))) || free[0];
        if (spot) boxes.push(spot.box);
      }
      if (spot) {
        children.push({
          type: 'text',
          x,
          y: spot.y,
          z2: 200, // above the lines
          rotation: m.rotate ? Math.PI / 2 : 0,
          style: {
            text: name,
            fontSize: m.fontSize,
            fill: missing ? m.mutedColor : m.textColor,
            stroke: m.background,
            lineWidth: m.bars ? 0 : 3,
            align: m.rotate ? (spot.below ? 'right' : 'left') : 'center',
            verticalAlign: m.rotate ? 'middle' : (spot.below ? 'top' : 'bottom'),
          },
        });
      }
    }
    return { type: 'group', children };
  };
}

// phases shades parts of the plot and names them at its upper edge. A part is [from, to], both categories.
function phases(series, labels) {
  const p = series.phases;
  return (params, api) => {
    const [from, to] = series.data[params.dataIndex];
    const half = api.size([1, 0])[0] / 2;
    const left = api.coord([from, p.top]);
    const right = api.coord([to, p.bottom]);
    const plot = params.coordSys;
    const x = Math.max(left[0] - half, plot.x); // of a part that is zoomed into, what is seen
    const width = Math.min(right[0] + half, plot.x + plot.width) - x;
    if (width <= 0) return null;
    const children = [{
      type: 'text',
      x: x + 6,
      y: left[1] + 5,
      z2: 100,
      style: { text: labels[params.dataIndex], fontSize: p.fontSize, fill: p.textColor, width: width - 8, overflow: 'truncate', stroke: p.background, lineWidth: 3, verticalAlign: 'top' },
    }];
    // Every other one, so that neighbours are told apart.
    if (params.dataIndex % 2 === 0) {
      children.unshift({ type: 'rect', shape: { x, y: left[1], width, height: right[1] - left[1] }, style: { fill: p.color, fillOpacity: 0.4 } }); // grid lines show through
    }
    return { type: 'group', children };
  };
}

// prepare makes an option for ECharts of the one that genreport wrote, and takes off it what ECharts doesn't know.
function prepare(option) {
  const shared = {};
  option.series.forEach((s) => {
    if (!s.marks && !s.phases) return;
    const items = s.data || [];
    s.data = items.map((item) => item.value);
    const labels = items.map((item) => item.name);
    s.renderItem = s.marks ? marks(s, labels, option, shared) : phases(s, labels);
  });
  // For the same reason as above names aren't used as names: series are called by number, and the legend shows what they are.
  const { names, tips, categories } = option;
  delete option.names;
  delete option.tips;
  delete option.categories;
  option.legend.formatter = (number) => names[number];
  return { names, tips, categories };
}

globalThis.genreport = {
  measure: (text, size) => platformApi.measureText(text, `${size}px sans-serif`).width,
  draw(json, width, height) {
    const option = JSON.parse(json);
    prepare(option);
    const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
    try {
      chart.setOption(option);
      return chart.getZr().painter.renderToString({ useViewBox: true, cssEmphasis: false, cssAnimation: false });
    } finally {
      chart.dispose();
    }
  },
  show(element, source, width, height, detail) {
    const option = JSON.parse(JSON.stringify(source)); // ECharts and prepare change it
    return show(element, option, prepare(option), width, height, detail);
  },
};
