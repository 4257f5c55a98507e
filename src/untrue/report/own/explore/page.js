"use strict";
// The page: what a person changes goes to the model, what it computes comes back.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const model = ExploreModel.create(data);
  const { k, classes } = model;
  const first = model.costs.slice();
  const start = { confusion: model.confusion.slice(), costs: first };
  const by = (id) => document.getElementById(id);
  const budgets = [];
  const SMALLEST = 0.1 * model.unit, DECADES = 4, LARGEST = 1e9;
  const state = { ...ExploreModel.worstMistake(model), scope: "cell", base: null, points: [], wanted: null,
    frame: 0, cancel: null, later: 0 };

  const short = (value) => (value === 0 ? "0" : Number(value.toPrecision(3)).toString());
  const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
  const whole = (times) => Math.round(times).toLocaleString("en");
  const compact = (times) => (times >= 99999.5 ? `${Math.round(times / 1000)}k` : Math.round(times).toString());
  const signed = (text, value) => (value > 0 ? `+${text}` : value < 0 ? `−${text}` : "±0");

  // ---- colours, which a canvas does not take from the style sheet
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const looks = {
    light: { ink: "#1b1b1b", over: "#ffffff", paper: "#ffffff", diagonal: "#e4e4e4",
      more: "#b45309", fewer: "#1d6fb8", pick: "#0b57d0" },
    dark: { ink: "#e8e8e8", over: "#111111", paper: "#16181d", diagonal: "#34373f",
      more: "#f0a35e", fewer: "#7db8ee", pick: "#8ab4f8" },
  };
  const ramps = {
    costs: { light: [[255, 250, 240], [154, 52, 18]], dark: [[38, 33, 30], [253, 186, 116]] },
    confusion: { light: [[247, 251, 255], [8, 48, 107]], dark: [[29, 32, 39], [190, 215, 240]] },
  };
  function colours(kind) {
    const scheme = dark.matches ? "dark" : "light";
    const [from, to] = ramps[kind][scheme];
    return { ...looks[scheme], from, to };
  }

  // ---- the two matrices
  const times = (i, j) => model.confusion[i * (k + 1) + j] * model.weights[i];
  const timesAtStart = (i, j) => start.confusion[i * (k + 1) + j] * model.weights[i];
  const answered = () => (model.price === null ? classes : [...classes, "(no answer)"]);
  const called = (j) => (j === k ? "no answer" : `answered ${classes[j]}`);
  let above = 0, outlined = false, scale = [1, 1];

  function survey() {
    above = ExploreModel.costlyAbove(model);
    let costly = 0, least = Infinity, greatest = 0;
    for (let at = 0; at < k * k; at++) {
      const cost = model.costs[at];
      if (Math.floor(at / k) === at % k || cost <= 0) continue;
      if (cost > above) costly++;
      least = Math.min(least, cost);
      greatest = Math.max(greatest, cost);
    }
    outlined = costly > 0 && costly <= (k * (k - 1)) / 2;
    scale = [least, greatest];
  }

  const costs = ExploreGrid.create(by("costs"), {
    title: "Costs",
    names: classes,
    columns: () => classes,
    colours: () => colours("costs"),
    cell(i, j) {
      if (i === j) return { shade: null, text: "" };
      const cost = model.costs[i * k + j], [least, greatest] = scale;
      const shade = cost <= 0 ? 0
        : greatest > least ? 0.1 + 0.9 * (Math.log(cost / least) / Math.log(greatest / least)) : 0.12;
      return { shade, text: short(cost), mark: Math.sign(cost - first[i * k + j]) };
    },
    sentence: (i, j) => (i === j ? `True ${classes[i]}, answered so: right, costs nothing.`
      : `True ${classes[i]}, ${called(j)}: costs ${short(model.costs[i * k + j])}.`),
    chosen: choose,
    typed(key) {
      if (key === "+" || key === "-") {
        const cost = chosenCost();
        setValue(rounded((cost || SMALLEST) * (key === "+" ? 1.25 : 0.8)));
        return;
      }
      if (by("value").disabled) return;
      by("value").focus();
      if (key === "Enter") by("value").select();
      else { by("value").value = key === "." ? "0." : key; by("value").dispatchEvent(new Event("input")); }
    },
    dragged(factor) {
      if (factor === null) { state.base = null; return; }
      if (state.base === null) state.base = chosenCost() || SMALLEST;
      setValue(rounded(state.base * factor));
    },
  });

  const confusion = ExploreGrid.create(by("confusion"), {
    title: "Answers",
    names: classes,
    columns: answered,
    colours: () => colours("confusion"),
    cell(i, j) {
      const now = times(i, j), change = now - timesAtStart(i, j);
      const share = model.counts[i] ? now / model.counts[i] : 0;
      return {
        shade: i === j ? null : Math.min(1, Math.sqrt(share / 0.4)),
        text: compact(now),
        small: change ? signed(compact(Math.abs(change)), change) : "",
        mark: Math.sign(change),
        edge: outlined && j < k && model.costs[i * k + j] > above,
      };
    },
    sentence(i, j) {
      const now = times(i, j), change = now - timesAtStart(i, j);
      const moved = change === 0 ? "as at the start"
        : `${whole(Math.abs(change))} ${change > 0 ? "more" : "fewer"} than at the start`;
      return `True ${classes[i]}, ${called(j)}: ${whole(now)} of ${whole(model.counts[i])} `
        + `(${percent(model.counts[i] ? now / model.counts[i] : 0)}), ${moved}.`;
    },
    chosen(i, j) { if (j < k) choose(i, j, "confusion"); else list(i, j); },
    seen: list,
    left: () => list(...confusion.at()),
  });

  function list(i, j) {
    const found = ExploreModel.examples(model, i, j, 10);
    const place = by("examples");
    place.replaceChildren();
    const head = document.createElement("div");
    head.textContent = confusion ? `True ${classes[i]}, ${called(j)}: ${whole(times(i, j))}`
      + `${found.count ? ". The most confident:" : "."}` : "";
    place.append(head);
    const names = found.first.map(({ row, confidence }) =>
      `${data.names ? data.names[row] : `row ${data.rows[row] + 1}`} (${percent(confidence)})`);
    place.append(names.join(", "));
  }

  // ---- choosing a cell and what a change is about
  for (const id of ["true-class", "answer-class"]) {
    by(id).append(...classes.map((name, at) => {
      const option = document.createElement("option");
      option.value = at;
      option.textContent = name;
      return option;
    }));
  }
  const groupOf = classes.map((_, i) => model.groups.find((group) => group.members.includes(i)));
  by("by-group").hidden = !model.groups.length;

  function choose(i, j, from) {
    Object.assign(state, { i, j });
    if (from !== "costs") costs.select(i, j);
    if (from !== "confusion") confusion.select(i, j);
    showChoice();
  }

  function showChoice() {
    const { i, j } = state;
    by("true-class").value = i;
    by("answer-class").value = j;
    const labels = document.querySelectorAll("#scopes span");
    labels[1].textContent = `every mistake about ${classes[i]}`;
    labels[2].textContent = `every wrong answer ${classes[j]}`;
    if (model.groups.length) {
      const [a, b] = [groupOf[i], groupOf[j]].map((group) => (group ? group.name : "no group"));
      labels[3].textContent = a === b ? `every mistake inside ${a}` : `${a} answered as ${b}`;
    }
    by("value").disabled = by("value-range").disabled = !cells().length;
    showValue();
    list(i, j);
  }

  // What the chosen cell costs, a change that is not drawn yet included.
  function chosenCost() {
    return state.i === state.j ? 0 : (state.wanted || model.costs)[state.i * k + state.j];
  }

  function showValue() {
    const cost = chosenCost();
    if (document.activeElement !== by("value")) by("value").value = short(cost);
    if (document.activeElement !== by("value-range")) {
      by("value-range").value = cost <= 0 ? 0
        : 1 + (999 * Math.log10(Math.max(cost / SMALLEST, 1))) / DECADES;
    }
    by("value-range").setAttribute("aria-valuetext", short(cost));
  }

  // The cells that a change is about, as positions in the matrix of costs.
  function cells() {
    const { i, j, scope } = state;
    const all = classes.map((_, at) => at);
    let rows = [i], columns = [j];
    if (scope === "row") columns = all;
    if (scope === "column") rows = all;
    if (scope === "group") {
      rows = groupOf[i] ? groupOf[i].members : [i];
      columns = groupOf[j] ? groupOf[j].members : [j];
    }
    return rows.flatMap((a) => columns.filter((b) => a !== b).map((b) => a * k + b));
  }

  const rounded = (cost) => Number(Math.min(cost, LARGEST).toPrecision(3));

  function setValue(cost) {
    const wanted = state.wanted || model.costs.slice();
    for (const at of cells()) wanted[at] = cost;
    state.wanted = wanted;
    schedule();
  }

  // ---- from a change to the picture, once a frame
  function schedule() {
    document.querySelector("main").setAttribute("aria-busy", "true");
    if (!state.frame) state.frame = requestAnimationFrame(update);
  }

  function update() {
    const began = performance.now();
    state.frame = 0;
    if (state.wanted) ExploreModel.setCosts(model, state.wanted);
    state.wanted = null;
    ExploreModel.decide(model);
    show();
    clearTimeout(state.later);
    if (state.cancel) state.cancel();
    // On a slow machine a drag has longer pauses: what can wait must not fall into them.
    state.later = setTimeout(afterwards, Math.max(120, 4 * (performance.now() - began)));
  }

  function show() {
    survey();
    const now = ExploreModel.measures(model);
    const was = ExploreModel.measures(model, start.confusion, null);
    state.now = now;
    state.was = was;
    by("accuracy").textContent = percent(now.accuracy, 2);
    by("accuracy-was").textContent = `${percent(was.accuracy, 2)} at the start`;
    by("cost").textContent = short(now.cost);
    by("cost-was").textContent = `${short(was.cost)} at the start`;
    by("costly").textContent = whole(now.costly);
    by("costly-was").textContent = `${whole(was.costly)} at the start`;
    by("abstained").textContent = percent(now.abstained);
    by("abstained-was").textContent = model.price === null ? "always answered" : `at ${short(model.price)} each`;
    // The first answers were there to choose: only probabilities that are off lead away from them.
    by("doubt").hidden = !(model.weight === 1 && now.cost > 1.01 * was.cost);
    by("weight-shown").textContent = `${Math.round(100 * model.weight)} %`;
    costs.draw();
    confusion.draw();
    showValue();
    by("budgets").replaceChildren(...ExploreBudgetBox.standing(model, budgets).map((text) => {
      const line = document.createElement("li");
      line.textContent = text;
      return line;
    }));
    ExploreFrontier.draw(by("frontier"), state.points, now, was);
  }

  // What need not keep up with a drag.
  function afterwards() {
    if (ExploreModel.settle(model)) {
      ExploreModel.decide(model);
      show();
    }
    by("spoken").textContent = `Accuracy ${by("accuracy").textContent}, cost of an answer `
      + `${by("cost").textContent}, costly errors ${by("costly").textContent}.`;
    list(...confusion.at());
    table();
    exported();
    state.cancel = ExploreFrontier.compute(model, (points) => {
      state.points = points;
      ExploreFrontier.draw(by("frontier"), points, state.now, state.was);
      document.querySelector("main").setAttribute("aria-busy", "false");
    });
  }

  function table() {
    if (!by("as-table").open) return;
    const made = document.createElement("table");
    const line = (tag, cells) => {
      const row = document.createElement("tr");
      row.append(...cells.map((text, at) => {
        const cell = document.createElement(at === 0 ? "th" : tag);
        cell.textContent = text;
        if (at) cell.className = "n";
        return cell;
      }));
      return row;
    };
    made.append(line("th", ["true \\ answer", ...answered()]));
    classes.forEach((name, i) => made.append(
      line("td", [name, ...answered().map((_, j) => Math.round(times(i, j)).toString())])));
    document.querySelector("#as-table .scroll").replaceChildren(made);
  }

  function exported() {
    by("toml").value = ExploreExport.toml(classes, ExploreModel.decisionCosts(model), [
      "What each mistake costs, found with `untrue explore`.",
      ...(model.weight < 1 ? [`At a weight of ${Math.round(100 * model.weight)} % against accuracy.`] : []),
    ]);
    by("commands").textContent = ExploreExport.commands(model, data.given, budgets);
  }

  // ---- what a person does
  by("true-class").addEventListener("change", () => choose(Number(by("true-class").value), state.j));
  by("answer-class").addEventListener("change", () => choose(state.i, Number(by("answer-class").value)));
  by("value").addEventListener("input", () => {
    const cost = Number(by("value").value);
    if (by("value").value !== "" && Number.isFinite(cost) && cost >= 0) setValue(Math.min(cost, LARGEST));
  });
  by("value").addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "Escape") by("costs").focus();
  });
  by("value").addEventListener("blur", showValue);
  by("value-range").addEventListener("input", () => {
    const at = Number(by("value-range").value);
    setValue(at === 0 ? 0 : rounded(SMALLEST * 10 ** ((DECADES * (at - 1)) / 999)));
  });
  by("scopes").addEventListener("change", (event) => { state.scope = event.target.value; showChoice(); });
  by("weight").addEventListener("input", () => {
    model.weight = Number(by("weight").value) / 100;
    schedule();
  });

  const pairOfGrids = () => { costs.refresh(); confusion.refresh(); };
  function setPrice() {
    const price = Number(by("price").value);
    const valid = by("price").value !== "" && Number.isFinite(price) && price >= 0;
    model.price = by("abstain").checked && valid ? price : null;
    confusion.refresh();
    schedule();
  }
  by("price").value = short(0.3 * model.unit);
  by("price").addEventListener("input", setPrice);
  by("abstain").addEventListener("change", setPrice);

  by("reset").addEventListener("click", () => {
    state.wanted = first.slice();
    budgets.length = 0;
    by("weight").value = 100;
    model.weight = 1;
    by("abstain").checked = false;
    setPrice();
    by("budget-message").textContent = "";
    by("proof").hidden = true;
  });

  by("as-table").addEventListener("toggle", table);
  by("save").addEventListener("click", () => {
    exported();
    ExploreExport.save("costs.toml", by("toml").value);
    by("saved").textContent = "Saved to your downloads.";
  });
  by("copy").addEventListener("click", () => {
    exported();
    by("toml").select();
    by("saved").textContent = document.execCommand("copy") ? "Copied." : "Selected: copy it by hand.";
  });

  ExploreBudgetBox.create(by, model, data, budgets, () => {
    by("weight").value = 100;
    model.weight = 1;
  }, schedule);

  dark.addEventListener("change", show);
  new ResizeObserver(pairOfGrids).observe(by("costs"));
  pairOfGrids();
  choose(state.i, state.j);
  schedule();
})();
