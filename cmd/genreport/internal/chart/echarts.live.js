// A chart that answers: drawn in a reader's browser from the same option as the picture in the page, over that picture.
import { init } from 'echarts/core';

// ECharts takes {name|text} in a tooltip for markup: a zero-width space keeps a text from being one.
const literal = (text) => String(text).replace(/\{/g, '{\u200b');

const colors = { text: 'var(--chart-text, #24292f)', axis: 'var(--chart-axis, #8b949e)', shade: 'var(--chart-grid, #e4e7ea)', back: 'var(--chart-bg, #ffffff)' };

// A chart of so many points can be zoomed.
const zoomable = 24;

// niceStep is the smallest of 1, 2, 5, 10, … that leaves out enough labels.
function niceStep(least) {
  for (let power = 1; ; power *= 10) {
    for (const m of [1, 2, 5]) if (m * power >= least) return m * power;
  }
}

// show draws into an element of the page that lies over the picture and is as large. extras is what prepare took off the option.
// Where points are in columns, categories says from where to where each goes and columns where it begins.
// It returns what the page's script needs: how to move through the points, to zoom out, to follow a new size, and what is shown.
export function show(element, option, extras, width, height) {
  const { names, tips, categories, columns } = extras;
  const count = categories.length;
  const lines = option.series[0].type === 'line';
  const zooms = lines && count >= zoomable;
  const step = (option.xAxis[0].axisLabel.interval || 0) + 1;
  const hidden = new Set();
  let shown = -1; // the point whose tooltip is open

  // rows are what the tooltip says of a point, in the order of the legend.
  const rows = (index) => names.map((name, i) => ({ name, text: tips[i][index], i })).filter((row) => !hidden.has(row.i));
  const rowText = (row) => (row.name ? `${row.name}  ${row.text}` : row.text);

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
      return [literal(categories[index]), ...rows(index).map((row) => marker(row.i) + literal(rowText(row)))].join('\n');
    },
  };
  if (zooms) {
    option.dataZoom = [{
      type: 'inside', xAxisIndex: 0, filterMode: 'none', minValueSpan: 8, throttle: 50,
      // The wheel scrolls the page; dragging chooses a part, below.
      zoomOnMouseWheel: 'ctrl', moveOnMouseMove: 'shift', moveOnMouseWheel: false,
    }];
  }

  const chart = init(element, null, { renderer: 'svg', width, height });
  if (zooms && (step > 1 || columns)) {
    const named = option.xAxis[0].data; // of columns, some
    const seen = () => (chart.getModel() ? chart.getModel().getComponent('xAxis').axis.scale.getExtent() : [0, count - 1]);
    const span = () => { const [from, to] = seen(); return to - from + 1; };
    const far = () => columns && span() === count;
    Object.assign(option.xAxis[0].axisLabel, {
      interval: (index) => (far() ? named[index] !== '' : index % niceStep(columns ? span() / 6 : (step * span()) / count) === 0),
      formatter: (name, after) => (columns && !far() ? columns[seen()[0] + after] : name), // ECharts counts from the first that is seen
    });
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
    return [categories[at], ...rows(at).map(rowText)].join('; ');
  };

  const zoomed = () => { const [a, b] = range(); return a > 0 || b < count - 1; };
  const zoom = (from, to) => chart.dispatchAction({ type: 'dataZoom', startValue: from, endValue: to });
  chart.on('datazoom', () => tell('chartzoom', zoomed()));
  chart.on('legendselectchanged', ({ selected }) => {
    hidden.clear();
    names.forEach((_, i) => { if (selected[i] === false) hidden.add(i); });
    hide();
  });

  if (zooms) {
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
    zr.on('dblclick', () => zoom(0, count - 1));
  }

  return {
    chart,
    count,
    to,
    hide,
    near: (x) => to(Math.round(chart.convertFromPixel({ xAxisIndex: 0 }, x))),
    first: () => range()[0],
    last: () => range()[1],
    at: () => shown,
    whole: () => zooms && zoom(0, count - 1),
    // closer halves or doubles the part that is shown, around the point in view.
    closer(factor) {
      if (!zooms) return;
      const [a, b] = range();
      const middle = shown >= 0 ? shown : (a + b) / 2;
      const half = Math.max(4, ((b - a) / 2) * factor);
      zoom(Math.max(0, Math.round(middle - half)), Math.min(count - 1, Math.round(middle + half)));
    },
    toggle(i) {
      if (i < names.length && names.length > 1) chart.dispatchAction({ type: 'legendToggleSelect', name: String(i) });
    },
    visible: () => names.filter((_, i) => !hidden.has(i)),
  };
}
