"use strict";
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const looks = {
    light: { ink: "#222222", over: "#ffffff", grid: "#d9d9d9", diagonal: "#e4e4e4", label: "#ffffff",
      scale: [[0, "#ffffff"], [0.15, "#d6e6f4"], [0.5, "#6aaed6"], [1, "#08306b"]] },
    dark: { ink: "#e8e8e8", over: "#111111", grid: "#3a3d45", diagonal: "#34373f", label: "#2a2d35",
      scale: [[0, "#1d2027"], [0.15, "#173a5e"], [0.5, "#3182bd"], [1, "#deebf7"]] },
  };
  function dressed(json, step) {
    const look = dark.matches ? looks.dark : looks.light;
    const parsed = JSON.parse(json);
    // A plot with steps has a drawing for each.
    const figure = step === undefined ? parsed : parsed[Number(step)];
    figure.layout.font.color = look.ink;
    figure.layout.hoverlabel = { align: "left", bgcolor: look.label, bordercolor: look.grid,
      font: { color: look.ink } };
    for (const name of ["xaxis", "yaxis"]) {
      Object.assign(figure.layout[name],
        { gridcolor: look.grid, linecolor: look.grid, tickcolor: look.grid });
    }
    for (const trace of figure.data) {
      const meta = trace.meta || {};
      if (meta.ink) {
        if (trace.line) trace.line.color = look.ink;
        trace.marker.color = look.ink;
        if (trace.marker.line) trace.marker.line.color = look.ink;
        for (const side of ["error_x", "error_y"]) if (trace[side]) trace[side].color = look.ink;
      }
      if (meta.text) trace.textfont.color = meta.text === "on dark" ? look.over : look.ink;
      if (meta.scale === "errors") trace.colorscale = look.scale;
      if (meta.scale === "diagonal") trace.colorscale = [[0, look.diagonal], [1, look.diagonal]];
    }
    return figure;
  }
  const options = { responsive: true, displaylogo: false, displayModeBar: false };
  function draw(place) {
    const figure = dressed(place.nextElementSibling.textContent, place.dataset.step);
    Plotly.react(place, figure.data, figure.layout, options);
  }
  function drawAll() {
    for (const place of document.querySelectorAll(".plot")) draw(place);
  }
  if (window.Plotly) {
    drawAll();
    dark.addEventListener("change", drawAll);
    // A folded figure has no width until it is opened.
    for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", drawAll);
  }

  // A slider moves all plots of its figure to a step.
  for (const figure of document.querySelectorAll("figure.steps")) {
    const steps = JSON.parse(figure.querySelector("script.all-steps").textContent);
    const slider = figure.querySelector("input");
    slider.addEventListener("input", function () {
      const step = steps[Number(slider.value)];
      figure.querySelector("output").textContent = step.name;
      figure.querySelector(".step-sentence").textContent = step.sentence;
      slider.setAttribute("aria-valuetext", slider.dataset.label + " " + step.name);
      for (const place of figure.querySelectorAll(".plot")) {
        place.dataset.step = slider.value;
        draw(place);
      }
    });
  }

  // A click on a cell of a confusion matrix lists its examples; names go in as text only.
  for (const place of document.querySelectorAll(".plot[data-examples]")) {
    const figure = place.closest("figure");
    const examples = JSON.parse(figure.querySelector("script.examples").textContent);
    const list = figure.querySelector(".list");
    place.on("plotly_click", function (event) {
      const point = event.points[0];
      const names = examples[point.y + "," + point.x] || [];
      list.textContent = names.length ? names.join(", ") : "No examples of this cell are listed.";
    });
  }

  // A click on a heading sorts its table; a second click turns the order round.
  function sortBy(table, column, heading) {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    };
    const rank = (value) => (typeof value === "number" ? 0 : 1);
    const rows = Array.from(table.tBodies[0].rows).sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (rank(x) !== rank(y)) return rank(x) - rank(y);
      const order = typeof x === "number" ? x - y : x.localeCompare(y);
      return up ? order : -order;
    });
    table.tBodies[0].append(...rows);
  }
  for (const table of document.querySelectorAll("table")) {
    Array.from(table.querySelectorAll("th")).forEach(function (heading, column) {
      heading.querySelector("button").addEventListener("click", () => sortBy(table, column, heading));
    });
  }
})();
