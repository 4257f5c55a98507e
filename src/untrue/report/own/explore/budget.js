"use strict";
// Budgets, "tumour->benign <= 1%": the grammar of docs/budgets.md, the cells that one is about, and
// the smallest multiplier of their costs that keeps it on the examples of the page.
const ExploreBudget = (() => {
  const GREATEST = 1e6;

  class Complaint extends Error {}

  function parse(text) {
    let rest = text.trim();
    const take = (pattern) => {
      const found = pattern.exec(rest);
      if (found) rest = rest.slice(found[0].length).trimStart();
      return found;
    };
    const name = () => {
      const quoted = take(/^"([^"]*)"|^'([^']*)'/);
      if (quoted) return { name: quoted[1] ?? quoted[2], quoted: true };
      const bare = take(/^(?:(?!->|→|←|<=|≤|=<|<|=|>|,)[^])+/);
      if (!bare || !bare[0].trim()) throw new Complaint("a class, a group or * is missing");
      return { name: bare[0].trim(), quoted: false };
    };
    const side = () => {
      const names = [name()];
      while (take(/^,/)) names.push(name());
      return names;
    };
    if (!rest) throw new Complaint("write a budget first, for example in the form below");
    const first = side();
    const budget = { kind: "confusion", truth: first, predicted: null, text: text.trim() };
    const words = first.length === 1 && !first[0].quoted
      ? first[0].name.toLowerCase().split(/\s+/).join(" ") : "";
    if (take(/^(?:->|→)/)) budget.predicted = side();
    else if (take(/^(?:<-|←)/)) {
      Object.assign(budget, { kind: "precision", predicted: first });
      budget.truth = side();
    } else if (words === "zone" || words === "across groups") budget.kind = words;
    else if (words === "expected cost") {
      throw new Complaint("an expected cost has no cells of its own; move the weight instead");
    } else throw new Complaint("expected -> between the true and the predicted class");
    if (!take(/^(?:<=|≤)/)) throw new Complaint("expected <= and a limit, as in <= 1%");
    const amount = take(/^\+?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/i);
    const unit = amount && take(/^(%|percent\b|errors?\b)/i);
    if (!unit || rest) throw new Complaint("the limit must be a share or a count: 1% or 20 errors");
    budget.amount = Number(amount[0]);
    budget.unit = /^error/i.test(unit[1]) ? "errors" : "%";
    if (budget.unit === "%" && budget.amount > 100) throw new Complaint("a share is at most 100%");
    if (budget.kind === "precision" && budget.unit === "errors") {
      throw new Complaint("<- is a share of the answers, in %");
    }
    return budget;
  }

  function members(model, names) {
    const found = new Uint8Array(model.k);
    for (const { name, quoted } of names) {
      if (name === "*" && !quoted) { found.fill(1); continue; }
      const own = model.classes.indexOf(name);
      // A group that shares its name with a class goes by "NAME (group)".
      const group = model.groups.find((each) => name ===
        (model.classes.includes(each.name) ? `${each.name} (group)` : each.name));
      if (own >= 0) found[own] = 1;
      else if (group) for (const member of group.members) found[member] = 1;
      else throw new Complaint(`there is no class${model.groups.length ? " or group" : ""} ${name}`);
    }
    return found;
  }

  // The cells of a budget, (k, k) of 0 and 1, and what its rate is a share of.
  function resolve(model, budget) {
    const { k, costs } = model;
    const cells = new Uint8Array(k * k);
    const of = { answers: budget.kind === "precision", classes: new Uint8Array(k).fill(1) };
    if (budget.predicted) {
      const truth = members(model, budget.truth), predicted = members(model, budget.predicted);
      for (let i = 0; i < k; i++) {
        for (let j = 0; j < k; j++) cells[i * k + j] = i !== j && truth[i] && predicted[j] ? 1 : 0;
      }
      if (of.answers) of.classes = predicted;
      else if (budget.unit === "%") {
        of.classes = truth.map((inside, i) => cells.subarray(i * k, i * k + k).includes(1) ? 1 : 0);
      }
    } else if (budget.kind === "zone") {
      const above = ExploreModel.costlyAbove(model);
      for (let at = 0; at < k * k; at++) cells[at] = costs[at] > above ? 1 : 0;
    } else {
      if (model.groups.length < 2) throw new Complaint("no groups are known: give --hierarchy");
      const group = new Int32Array(k).fill(-1);
      model.groups.forEach((each, g) => each.members.forEach((i) => { group[i] = g; }));
      for (let at = 0; at < k * k; at++) cells[at] = group[Math.floor(at / k)] !== group[at % k] ? 1 : 0;
    }
    if (!cells.includes(1)) throw new Complaint("that is no mistake: both sides are the same class");
    return { budget, cells, of };
  }

  // Errors in its cells, what they are a share of, and whether that is within the limit.
  function judge(model, resolved, confusion = model.confusion) {
    const { k, weights, counts } = model;
    let errors = 0, of = 0;
    for (let i = 0; i < k; i++) {
      if (!resolved.of.answers && resolved.of.classes[i]) of += counts[i];
      for (let j = 0; j < k; j++) {
        const times = confusion[i * (k + 1) + j] * weights[i];
        if (resolved.cells[i * k + j]) errors += times;
        if (resolved.of.answers && resolved.of.classes[j]) of += times;
      }
    }
    const { unit, amount } = resolved.budget;
    const found = unit === "%" ? (of ? (100 * errors) / of : 0) : errors;
    return { errors, of, rate: of ? errors / of : 0, kept: found <= amount * (1 + 1e-12) };
  }

  // A + (m - 1) u on the cells, u their mean cost, or that of all mistakes where they are free.
  function scaled(model, costs, cells, multiplier) {
    const { k } = model;
    let own = 0, count = 0, all = 0;
    for (let at = 0; at < k * k; at++) {
      all += costs[at];
      if (cells[at]) { own += costs[at]; count++; }
    }
    const unit = own / count || all / (k * (k - 1)) || 1;
    return costs.map((cost, at) => cost + (cells[at] ? (multiplier - 1) * unit : 0));
  }

  // The examples that a budget is about: of a share of answers, all.
  function concerned(model, resolved) {
    const { n, k, truth } = model;
    const rows = [];
    for (let row = 0; row < n; row++) {
      const from = truth[row] * k;
      if (resolved.of.answers || resolved.cells.subarray(from, from + k).includes(1)) rows.push(row);
    }
    return Int32Array.from(rows);
  }

  // Sets the model's costs to the smallest multiplier that keeps the budget, found by larger
  // steps and then by bisection; costs are left alone where none does. Expected costs are linear in the
  // multiplier, so that two sets of them give all the others.
  function keep(model, text) {
    const resolved = resolve(model, parse(text));
    const costs = model.costs.slice();
    const exactly = (multiplier) => {
      ExploreModel.setCosts(model, scaled(model, costs, resolved.cells, multiplier));
      ExploreModel.settle(model);
      ExploreModel.decide(model);
      return judge(model, resolved);
    };
    const start = exactly(1);
    if (start.kept) return { resolved, start, end: start, multiplier: 1, kept: true };
    const one = model.expected.slice();
    exactly(2);
    const two = model.expected.slice();
    const rows = concerned(model, resolved), { k } = model;
    const kept = (multiplier) => {
      for (const row of rows) {
        for (let at = row * k; at < (row + 1) * k; at++) {
          model.expected[at] = one[at] + (multiplier - 1) * (two[at] - one[at]);
        }
      }
      ExploreModel.decide(model, model.weight, model.answers, model.confusion, rows);
      return judge(model, resolved).kept;
    };
    let low = 1, high = 2, found = kept(high);
    while (!found && high < GREATEST) {
      [low, high] = [high, 4 * high];
      found = kept(high);
    }
    if (!found) {
      const best = judge(model, resolved);
      exactly(1);
      return { resolved, start, end: best, multiplier: high, kept: false };
    }
    while (high - low > 1e-3 * low) {
      const middle = Math.sqrt(low * high);
      if (kept(middle)) high = middle; else low = middle;
    }
    // Three digits where they keep it too.
    const digits = 10 ** (2 - Math.floor(Math.log10(high)));
    let multiplier = Math.ceil(high * digits) / digits;
    let end = exactly(multiplier);
    if (!end.kept) end = exactly(multiplier = high);
    return { resolved, start, end, multiplier, kept: end.kept };
  }

  return { Complaint, parse, resolve, judge, keep };
})();
