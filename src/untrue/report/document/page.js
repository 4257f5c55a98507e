"use strict";
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const looks = {
    light: { ink: "#222222", over: "#ffffff", grid: "#d9d9d9", diagonal: "#e4e4e4", label: "#ffffff",
      scale: [[0, "#ffffff"], [0.15, "#d6e6f4"], [0.5, "#6aaed6"], [1, "#08306b"]] },
    dark: { ink: "#e8e8e8", over: "#111111", grid: "#3a3d45", diagonal: "#34373f", label: "#2a2d35",
      scale: [[0, "#1d2027"], [0.15, "#173a5e"], [0.5, "#3182bd"], [1, "#deebf7"]] },
  };
  function dressed(told) {
    const look = dark.matches ? looks.dark : looks.light;
    const figure = JSON.parse(told);
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
  function drawAll() {
    for (const place of document.querySelectorAll(".plot")) {
      const figure = dressed(place.nextElementSibling.textContent);
      Plotly.react(place, figure.data, figure.layout, options);
    }
  }
  drawAll();
  dark.addEventListener("change", drawAll);
})();
