"use strict";
// Accuracy against cost as the weight of the costs goes from 0 to 1, drawn as SVG.
const ExploreFrontier = (() => {
  const STEPS = 20;

  function element(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // Points, one at a time so that the page stays quick: `done` gets them all, unless `cancel`.
  function compute(model, done) {
    const points = [];
    const answers = new Uint8Array(model.n), confusion = new Int32Array(model.confusion.length);
    let timer = setTimeout(step, 0);
    function step() {
      const weight = points.length / STEPS;
      ExploreModel.decide(model, weight, answers, confusion);
      points.push({ weight, ...ExploreModel.measures(model, confusion) });
      if (points.length > STEPS) done(points); else timer = setTimeout(step, 0);
    }
    return () => clearTimeout(timer);
  }

  function range(values) {
    const low = Math.min(...values), high = Math.max(...values);
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    return [low - room, high + room];
  }

  function draw(host, points, now, start) {
    const width = Math.max(240, Math.min(560, host.clientWidth)), height = 240;
    const box = { left: 58, right: width - 12, top: 10, bottom: height - 40 };
    const all = [...points, now, start];
    const [x0, x1] = range(all.map((point) => 100 * point.accuracy));
    const [y0, y1] = range(all.map((point) => point.cost));
    const x = (point) => box.left + ((100 * point.accuracy - x0) / (x1 - x0)) * (box.right - box.left);
    const y = (point) => box.bottom - ((point.cost - y0) / (y1 - y0)) * (box.bottom - box.top);
    const picture = element("svg", { width, height, role: "img", "aria-label":
      `Cost of an answer against accuracy. Now ${(100 * now.accuracy).toFixed(1)} % right at a cost of `
      + `${now.cost.toPrecision(3)}, at the start ${(100 * start.accuracy).toFixed(1)} % at ${start.cost.toPrecision(3)}.` });
    picture.append(
      element("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
      element("line", { class: "axis", x1: box.left, x2: box.left, y1: box.top, y2: box.bottom }),
      element("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, "accuracy (%)"),
      element("text", { x: 12, y: (box.top + box.bottom) / 2, "text-anchor": "middle",
        transform: `rotate(-90 12 ${(box.top + box.bottom) / 2})` }, "cost of an answer"));
    for (const share of [0.1, 0.5, 0.9]) {
      const along = x0 + share * (x1 - x0), up = y0 + share * (y1 - y0);
      picture.append(
        element("text", { x: box.left + share * (box.right - box.left), y: box.bottom + 16,
          "text-anchor": "middle" }, along.toFixed(x1 - x0 < 3 ? 2 : 1)),
        element("text", { x: box.left - 6, y: box.bottom - share * (box.bottom - box.top) + 4,
          "text-anchor": "end" }, up.toPrecision(3)));
    }
    if (points.length) {
      picture.append(element("polyline", { class: "path",
        points: points.map((point) => `${x(point)},${y(point)}`).join(" ") }));
      for (const point of points) picture.append(element("circle", { class: "dot", r: 2.5, cx: x(point), cy: y(point) }));
    }
    picture.append(element("circle", { class: "start", r: 5, cx: x(start), cy: y(start) }),
      element("circle", { class: "now", r: 7, cx: x(now), cy: y(now) }));
    host.replaceChildren(picture);
  }

  return { compute, draw };
})();
