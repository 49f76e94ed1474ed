// Lets a reader ask a chart: what a point is, without some series, closer. The picture in the page is complete without it. What draws
// is large, and loaded when a reader first reaches for a chart, by pointer, finger or keyboard.
(() => {
  'use strict';
  const { echarts, help } = document.currentScript.dataset;
  const loading = new Map();
  const load = (src) => {
    if (!loading.has(src)) {
      loading.set(src, new Promise((done, failed) => {
        const script = document.createElement('script');
        script.src = src;
        script.onload = done;
        script.onerror = () => { loading.delete(src); failed(new Error(src)); };
        document.head.append(script);
      }));
    }
    return loading.get(src);
  };

  const stages = new Map(); // the two sizes of each figure, and what became of them

  async function draw(stage) {
    const figure = stage.closest('figure');
    await Promise.all([load(echarts), load(figure.dataset.option)]);
    const { option, width, height } = self.genreportCharts[figure.id][stage.className.split(' ')[0]];
    const box = document.createElement('div');
    box.className = 'live';
    box.setAttribute('aria-hidden', 'true'); // the picture below stays for those who hear it
    box.style.width = `${width}px`;
    box.style.height = `${height}px`;
    stage.append(box);
    const fit = () => {
      const wide = stage.getBoundingClientRect().width; // clientWidth is rounded
      if (wide) box.style.transform = `scale(${wide / width})`;
    };
    fit();
    new ResizeObserver(fit).observe(stage);
    const { detail } = figure.dataset; // what all points of a long chart are in, for who looks closer
    const chart = self.genreport.show(box, option, width, height, detail && (() => load(detail).then(() => self.genreportDetails[figure.id])));
    const whole = figure.querySelector('.whole');
    box.addEventListener('chartzoom', (e) => { whole.hidden = !e.detail; });
    whole.addEventListener('click', () => chart.whole());
    stage.classList.add('alive');
    return { chart, scale: () => box.getBoundingClientRect().width / width, left: () => box.getBoundingClientRect().left };
  }

  // wake makes a picture into a chart, once; a failure, as without a network, leaves the picture.
  const wake = (stage) => {
    if (!stages.get(stage)) {
      stages.set(stage, draw(stage).catch(() => { stages.delete(stage); }));
    }
    return stages.get(stage);
  };

  const leave = async (stage) => {
    const live = await stages.get(stage);
    if (live) live.chart.hide();
  };

  const reached = (target) => (target instanceof Element ? target.closest('figure[data-option] > .wide, figure[data-option] > .narrow') : null);
  let at = null; // the newest place of the pointer
  for (const type of ['pointermove', 'pointerdown', 'click']) {
    document.addEventListener(type, async (e) => {
      const stage = reached(e.target);
      at = stage && { stage, x: e.clientX };
      if (type === 'pointerdown') for (const other of stages.keys()) if (other !== stage) leave(other);
      // A finger that scrolls the page goes over charts, one that taps means them; its tap has given the focus before. A page that
      // scrolls under a resting pointer moves it nowhere.
      if (!stage || (type === 'click' ? stage.matches('.alive') : stages.has(stage) || e.pointerType === 'touch' || type === 'pointermove' && !e.movementX && !e.movementY)) return;
      const live = await wake(stage);
      if (live && at && at.stage === stage) live.chart.near((at.x - live.left()) / live.scale());
    }, { passive: true });
  }

  const keys = document.createElement('p');
  keys.id = 'chart-keys';
  keys.hidden = true;
  keys.textContent = help;
  document.body.append(keys);
  for (const stage of document.querySelectorAll('figure[data-option] > .wide, figure[data-option] > .narrow')) {
    stage.tabIndex = 0;
    stage.setAttribute('role', 'group');
    const figure = stage.closest('figure');
    const title = figure.querySelector('figcaption');
    title.id = `${figure.id}-title`;
    stage.setAttribute('aria-labelledby', title.id);
    stage.setAttribute('aria-describedby', keys.id);
    stage.addEventListener('focus', () => wake(stage));
    stage.addEventListener('blur', () => leave(stage));
    stage.addEventListener('keydown', async (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.target !== stage) return;
      const moves = ['ArrowLeft', 'ArrowRight', 'Home', 'End'];
      const others = ['+', '=', '-', '0', 'Escape'];
      if (!moves.includes(e.key) && !others.includes(e.key) && !/^[1-9]$/.test(e.key)) return;
      if (e.key === 'Escape') {
        stage.blur();
        return;
      }
      e.preventDefault();
      const { key, shiftKey } = e;
      const live = await wake(stage);
      if (!live) return;
      const { chart } = live;
      const far = shiftKey ? 10 : 1;
      const now = chart.at();
      let said = '';
      if (key === 'ArrowRight') said = chart.to(now < 0 ? chart.first() : now + far);
      else if (key === 'ArrowLeft') said = chart.to(now < 0 ? chart.last() : now - far);
      else if (key === 'Home') said = chart.to(chart.first());
      else if (key === 'End') said = chart.to(chart.last());
      else if (key === '+' || key === '=') chart.closer(0.5);
      else if (key === '-') chart.closer(2);
      else if (key === '0') chart.whole();
      else {
        chart.toggle(Number(key) - 1);
        said = chart.visible().join(', ');
      }
      let voice = stage.querySelector('.unseen');
      if (!voice) {
        voice = document.createElement('p');
        voice.className = 'unseen';
        voice.setAttribute('role', 'status');
        stage.append(voice);
      }
      voice.textContent = said;
    });
  }
})();
