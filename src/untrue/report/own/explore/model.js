"use strict";
// From probabilities and costs to answers and counts: the arithmetic, without the page.
//
// Probabilities come as bytes c, the probability of a row being c^2 over the row's sum of squares.
// Within a row only proportions matter, so expected costs are kept times that sum: whole numbers
// times costs, in double precision, as `untrue.decide` computes them.
const ExploreModel = (() => {
  const EPS = 2 ** -52;

  function bytes(text) {
    const raw = atob(text);
    const found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
    return found;
  }

  // data: as `untrue.report.own.explore` writes it.
  function create(data) {
    const k = data.classes.length;
    const codes = bytes(data.codes);
    const n = codes.length / k;
    const squares = new Uint16Array(n * k);
    const sums = new Float64Array(n);
    for (let row = 0, at = 0; row < n; row++) {
      for (let j = 0; j < k; j++, at++) {
        squares[at] = codes[at] * codes[at];
        sums[row] += squares[at];
      }
    }
    const truth = bytes(data.truth);
    const kept = new Float64Array(k);
    for (const label of truth) kept[label]++;
    const costs = Float64Array.from(data.costs.flat());
    const model = {
      n, k, squares, sums, truth, kept, costs,
      classes: data.classes,
      groups: data.groups,
      counts: Float64Array.from(data.counts),
      // What one example that was kept stands for.
      weights: Float64Array.from(data.counts, (count, i) => count / Math.max(kept[i], 1)),
      total: data.counts.reduce((sum, count) => sum + count, 0),
      unit: commonest(costs, k),
      weight: 1,
      price: null,
      expected: new Float64Array(n * k),
      exact: true,
      answers: new Uint8Array(n),
      confusion: new Int32Array(k * (k + 1)),
      line: new Float64Array(k),
    };
    computeAll(model);
    decide(model);
    return model;
  }

  // The cost that most mistakes have, the least of several; 1 if none costs anything.
  function commonest(costs, k) {
    const times = new Map();
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < k; j++) {
        const cost = costs[i * k + j];
        if (i !== j && cost > 0) times.set(cost, (times.get(cost) || 0) + 1);
      }
    }
    let best = 1, most = 0;
    for (const [cost, count] of times) {
      if (count > most || (count === most && cost < best)) [best, most] = [cost, count];
    }
    return best;
  }

  // Expected costs of every answer, from nothing: n k^2 steps, fewer where probabilities are 0.
  function computeAll(model) {
    const { n, k, squares, costs, expected } = model;
    expected.fill(0);
    for (let row = 0; row < n; row++) {
      const at = row * k;
      for (let i = 0; i < k; i++) {
        const square = squares[at + i];
        if (square === 0) continue;
        const from = i * k;
        for (let j = 0; j < k; j++) expected[at + j] += square * costs[from + j];
      }
    }
    model.exact = true;
  }

  function computeColumns(model, columns) {
    const { n, k, squares, costs, expected } = model;
    for (const j of columns) {
      const column = new Float64Array(k);
      for (let i = 0; i < k; i++) column[i] = costs[i * k + j];
      for (let row = 0, at = 0; row < n; row++, at += k) {
        let sum = 0;
        for (let i = 0; i < k; i++) sum += squares[at + i] * column[i];
        expected[at + j] = sum;
      }
    }
  }

  function addRow(model, i, change) {
    const { n, k, squares, expected } = model;
    for (let row = 0, at = 0; row < n; row++, at += k) {
      const square = squares[at + i];
      if (square === 0) continue;
      for (let j = 0; j < k; j++) expected[at + j] += square * change[j];
    }
    model.exact = false;
  }

  // Change costs to those of `wanted` (k * k numbers), by the shortest way. Whole columns are
  // computed again, rows are added to, which rounds: `settle` makes that exact again.
  function setCosts(model, wanted) {
    const { k, costs } = model;
    const rows = new Set(), columns = new Set();
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < k; j++) {
        if (costs[i * k + j] !== wanted[i * k + j]) { rows.add(i); columns.add(j); }
      }
    }
    if (!rows.size) return;
    if (columns.size <= rows.size) {
      costs.set(wanted);
      if (columns.size > k / 3) computeAll(model); else computeColumns(model, columns);
      return;
    }
    for (const i of rows) {
      const change = new Float64Array(k);
      for (let j = 0; j < k; j++) change[j] = wanted[i * k + j] - costs[i * k + j];
      addRow(model, i, change);
    }
    costs.set(wanted);
  }

  function settle(model) {
    if (model.exact) return false;
    computeAll(model);
    return true;
  }

  // The answer of least expected cost for every example, and the counts: true class by row, answer
  // by column, the last column for no answer. Among answers of equal cost (but for rounding) the
  // most probable one wins, then the first. rows: only these examples, if given.
  function decide(model, weight = model.weight, answers = model.answers,
    confusion = model.confusion, rows = null) {
    const { n, k, squares, sums, expected, truth, price, line } = model;
    const flat = (1 - weight) * model.unit;
    const rounding = (64 + Math.sqrt(k)) * EPS;
    const limit = price === null ? Infinity : price * (1 + 4 * EPS);
    confusion.fill(0);
    const count = rows === null ? n : rows.length;
    for (let place = 0; place < count; place++) {
      const row = rows === null ? place : rows[place];
      const at = row * k;
      const sum = sums[row];
      let least = Infinity, greatest = 0;
      for (let j = 0; j < k; j++) {
        const cost = weight * expected[at + j] + flat * (sum - squares[at + j]);
        line[j] = cost;
        if (cost < least) least = cost;
        if (cost > greatest) greatest = cost;
      }
      const slack = rounding * greatest;
      const within = least + slack;
      let answer = k;
      if (!(least > limit * sum + slack)) {
        let most = -1;
        for (let j = 0; j < k; j++) {
          if (line[j] <= within && squares[at + j] > most) { most = squares[at + j]; answer = j; }
        }
      }
      answers[row] = answer;
      confusion[truth[row] * (k + 1) + answer]++;
    }
    return confusion;
  }

  // The costs that decisions are made by: at weight 0 every mistake costs the same.
  function decisionCosts(model) {
    const { k, costs, weight, unit } = model;
    return Float64Array.from(costs, (cost, at) =>
      Math.floor(at / k) === at % k ? 0 : weight * cost + (1 - weight) * unit);
  }

  // As in Python's `zone_threshold`: costlier than the cheapest mistake that costs anything.
  function costlyAbove(model) {
    const { k, costs } = model;
    let least = Infinity, greatest = 0;
    for (let at = 0; at < k * k; at++) {
      if (Math.floor(at / k) === at % k || costs[at] <= 0) continue;
      least = Math.min(least, costs[at]);
      greatest = Math.max(greatest, costs[at]);
    }
    return greatest > least ? least : 0;
  }

  // Of a matrix of counts, in examples of the whole file; costs are those of the matrix.
  function measures(model, confusion = model.confusion, price = model.price) {
    const { k, costs, weights, total } = model;
    const above = costlyAbove(model);
    let right = 0, cost = 0, costly = 0, silent = 0;
    for (let i = 0; i < k; i++) {
      for (let j = 0; j <= k; j++) {
        const times = confusion[i * (k + 1) + j] * weights[i];
        if (j === k) { silent += times; cost += times * (price || 0); continue; }
        if (i === j) { right += times; continue; }
        cost += times * costs[i * k + j];
        if (costs[i * k + j] > above) costly += times;
      }
    }
    return { accuracy: right / total, cost: cost / total, costly, abstained: silent / total };
  }

  // The costliest mistake; of several the one that most of its true class make, where classes of
  // few examples count less.
  function worstMistake(model) {
    const { k, confusion, costs, kept } = model;
    let best = { i: 0, j: 1, rate: 0 }, most = -1;
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < k; j++) {
        const rate = confusion[i * (k + 1) + j] / Math.max(kept[i], 20);
        const cost = costs[i * k + j];
        if (i === j || cost < most || (cost === most && rate <= best.rate)) continue;
        best = { i, j, rate };
        most = cost;
      }
    }
    return best;
  }

  // The most confident examples of a cell: positions, with the probability of the answer.
  function examples(model, i, j, most) {
    const { n, k, squares, sums, truth, answers } = model;
    const found = [];
    for (let row = 0; row < n; row++) {
      if (truth[row] !== i || answers[row] !== j) continue;
      let square = 0;
      if (j < k) square = squares[row * k + j];
      else for (let c = 0; c < k; c++) square = Math.max(square, squares[row * k + c]);
      found.push({ row, confidence: square / sums[row] });
    }
    found.sort((a, b) => b.confidence - a.confidence || a.row - b.row);
    return { count: found.length, first: found.slice(0, most) };
  }

  return { create, setCosts, settle, decide, decisionCosts, costlyAbove, measures, examples,
    worstMistake };
})();
