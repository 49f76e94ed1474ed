// Shows the steps of a demonstration one at a time. Without it they are all
// there, one below the other, and the same addresses lead to them.
(function () {
  "use strict";

  function enhance(demo) {
    var steps = Array.prototype.slice.call(demo.querySelectorAll(":scope > .steps > li"));
    if (steps.length < 2) return null;
    var now = 0;

    // say fills in a template, one value after another.
    function say(template) {
      var values = Array.prototype.slice.call(arguments, 1);
      return template.replace(/%[ds]/g, function () { return values.shift(); });
    }
    function titleOf(step) {
      return step.querySelector(".step-title > span:last-child").textContent.trim();
    }
    function element(name, className, text) {
      var e = document.createElement(name);
      if (className) e.className = className;
      if (text) e.textContent = text;
      return e;
    }
    function button(className, label, text, act) {
      var b = element("button", className, text);
      b.type = "button";
      if (label) {
        b.setAttribute("aria-label", label);
        b.title = label;
      }
      b.addEventListener("click", act);
      return b;
    }

    var bar = element("div", "controls");
    var back = button("back", "", demo.dataset.previous, function () { go(now - 1); });
    var on = button("on", "", demo.dataset.next, function () { go(now + 1); });
    var dots = element("div", "dots");
    var marks = steps.map(function (step, i) {
      var dot = button("dot", say(demo.dataset.step, i + 1) + " \u00b7 " + titleOf(step), "", function () { go(i); });
      dots.appendChild(dot);
      return dot;
    });
    bar.append(back, dots, on);
    // What is said to those who can't see the step change.
    var live = element("p", "unseen");
    live.setAttribute("aria-live", "polite");
    demo.insertBefore(bar, demo.querySelector(".steps"));
    demo.appendChild(live);
    demo.classList.add("stepped");
    var list = demo.querySelector(".steps");
    list.tabIndex = 0;
    list.setAttribute("aria-labelledby", demo.id + "-title");

    function show(i) {
      now = i;
      steps.forEach(function (step, k) { step.classList.toggle("current", k === i); });
      marks.forEach(function (dot, k) {
        if (k === i) dot.setAttribute("aria-current", "step");
        else dot.removeAttribute("aria-current");
      });
      // Not disabled: that would take away the focus.
      back.setAttribute("aria-disabled", String(i === 0));
      on.setAttribute("aria-disabled", String(i === steps.length - 1));
    }

    function go(i) {
      if (i < 0 || i >= steps.length || i === now) return;
      show(i);
      var step = steps[i];
      live.textContent = say(demo.dataset.of, i + 1, steps.length, titleOf(step)) + " " +
        Array.prototype.map.call(step.querySelectorAll(".step-caption, .recorded > p, .recorded li"), function (e) { return e.textContent.trim(); }).join(" ");
      try {
        history.replaceState(history.state, "", "#" + step.id);
      } catch (e) { /* an address that may not change: the step is shown all the same */ }
    }

    demo.addEventListener("keydown", function (e) {
      if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return;
      var to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: steps.length - 1 }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      go(to);
    });

    show(0);
    return {
      // open shows the step with an id; false where it isn't one of these.
      open: function (id) {
        var i = steps.findIndex(function (step) { return step.id === id; });
        if (i < 0) return false;
        show(i);
        demo.scrollIntoView();
        return true;
      }
    };
  }

  var demos = Array.prototype.slice.call(document.querySelectorAll(".demo")).map(enhance).filter(Boolean);

  function follow() {
    var id = "";
    try {
      id = decodeURIComponent(location.hash.slice(1));
    } catch (e) { /* not an address of ours */ }
    demos.some(function (demo) { return demo.open(id); });
  }
  window.addEventListener("hashchange", follow);
  follow();
  // Once more when all is there: the browser goes to the step itself, below the demonstration's name.
  window.addEventListener("load", follow, { once: true });
})();
