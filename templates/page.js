// What pages can do more with scripts than without: remember a choice of
// colours, copy commands and outputs, and keep the place when the language
// changes. No page needs it. It is loaded before the style sheet and not
// deferred, so that chosen colours are there before anything is drawn.
(function () {
  'use strict';
  var root = document.documentElement, themes = ['system', 'light', 'dark'];
  root.dataset.js = '';

  // Storage may be refused, such as in private windows: then nothing is remembered.
  function remembered() {
    try { return localStorage.getItem('theme'); } catch (e) { return null; }
  }
  function remember(theme) {
    try {
      if (theme === 'system') localStorage.removeItem('theme');
      else localStorage.setItem('theme', theme);
    } catch (e) { /* see above */ }
  }
  function apply(theme) {
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    else delete root.dataset.theme;
  }
  apply(remembered());

  function themeButton(button) {
    var metas = [].slice.call(document.querySelectorAll('meta[name="theme-color"]'));
    var colours = metas.map(function (m) { return m.content; }); // of light, of dark
    function show() {
      var theme = root.dataset.theme || 'system';
      button.setAttribute('aria-label', button.dataset.label + button.dataset[theme]);
      button.title = button.dataset.label + button.dataset[theme];
      metas.forEach(function (m, i) {
        m.content = theme === 'light' ? colours[0] : theme === 'dark' ? colours[1] : colours[i];
      });
    }
    button.addEventListener('click', function () {
      var next = themes[(themes.indexOf(root.dataset.theme || 'system') + 1) % themes.length];
      apply(next);
      remember(next);
      show();
    });
    addEventListener('storage', function (e) { // another window chose
      if (e.key === 'theme' || e.key === null) { apply(remembered()); show(); }
    });
    show();
  }

  // The clipboard is there on https, localhost and files; elsewhere the old way.
  function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    var area = document.createElement('textarea');
    area.value = text;
    area.className = 'unseen';
    document.body.append(area);
    area.select();
    var done = document.execCommand('copy');
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error('not copied'));
  }

  function copyButton(box, source, words) {
    var button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = words.copy;
    button.setAttribute('aria-live', 'polite');
    button.addEventListener('click', function () {
      copy(source.innerText.trim()).then(function () {
        button.textContent = words.copied;
        setTimeout(function () { button.textContent = words.copy; }, 2000);
      }, function () {
        getSelection().selectAllChildren(source); // to be copied by hand
      });
    });
    box.insertBefore(button, box.matches('pre') ? source : null); // its lines flow around it
  }

  // The id of what is being read; of a demonstration, that of the step it shows.
  function reading() {
    var id = '';
    document.querySelectorAll('main h2[id], main figure[id], main section[id], main details > div[id], .claims li[id]').forEach(function (e) {
      var box = e.getBoundingClientRect();
      if ((box.width || box.height) && box.top <= innerHeight / 3) id = (e.querySelector(':scope > .steps > .current') || e).id;
    });
    return id;
  }

  // Who goes up to the link at the top wants to go on where they last stopped
  // scrolling; who has been at the top for a while begins there.
  var last = '', until = 0, timer;
  function rest() {
    if (scrollY >= 10) {
      last = reading();
      until = Infinity;
    } else if (until === Infinity) {
      until = Date.now() + 10000;
    }
  }
  addEventListener('scroll', function () {
    clearTimeout(timer);
    timer = setTimeout(rest, 400);
  }, { passive: true });

  // Its id in the other language: sections have another id there, in the same
  // order; figures, claims and samples have the same.
  function placeFor(link) {
    var places = link.dataset.places.split(' ');
    var contents = [].slice.call(document.querySelectorAll('.contents a')).map(function (a) { return decodeURIComponent(a.hash.slice(1)); });
    var id = scrollY >= 10 ? reading() : Date.now() < until ? last : '';
    var at = contents.indexOf(id);
    return at >= 0 ? places[at] || id : id;
  }

  function languageLink(link) {
    var href = link.getAttribute('href');
    function keep() {
      var place = placeFor(link);
      link.setAttribute('href', place ? href + '#' + encodeURIComponent(place) : href);
    }
    ['pointerdown', 'focus', 'click'].forEach(function (what) { link.addEventListener(what, keep); });
  }

  document.addEventListener('DOMContentLoaded', function () {
    var header = document.querySelector('header.site');
    document.querySelectorAll('button.theme').forEach(themeButton);
    document.querySelectorAll('.languages a[data-places]').forEach(languageLink);
    document.querySelectorAll('figure.output').forEach(function (f) { copyButton(f, f.querySelector('.scroll'), header.dataset); });
    document.querySelectorAll('pre.command, .prose pre, .setup pre').forEach(function (p) { copyButton(p, p.querySelector('code') || p, header.dataset); });
  });
})();
