"use strict";
// The box for budgets: sets the costs that keep one, and shows for all of them whether they are kept.
const ExploreBudgetBox = (() => {
  const ESTIMATE = "This is an estimate, on the very examples that the costs were chosen on. This command proves it, "
    + "or says what it would take:";
  const percent = (share) => `${(100 * share).toFixed(2)} %`;
  const whole = (times) => Math.round(times).toLocaleString("en");

  // A name as the grammar of budgets wants it; null if it has both kinds of quotes.
  function quoted(name) {
    const plain = /^(?:(?!->|→|←|<=|≤|[<=>,])[^])+$/.test(name) && name === name.trim()
      && !/^["']/.test(name) && name !== "*";
    if (!plain && name.includes('"') && name.includes("'")) return null;
    return plain ? name : name.includes('"') ? `'${name}'` : `"${name}"`;
  }

  // The costliest mistake at the start, held to a third of its rate.
  function example(model) {
    const { i, j, rate } = ExploreModel.worstMistake(model);
    const limit = Number(Math.max(100 * rate / 3, 0.1).toPrecision(1));
    const names = [quoted(model.classes[i]), quoted(model.classes[j])];
    return names.includes(null) ? "zone <= 1%" : `${names[0]}->${names[1]} <= ${limit}%`;
  }

  function sentence(found) {
    const { start, end, multiplier, kept, resolved } = found;
    const rate = (verdict) => `${percent(verdict.rate)} (${whole(verdict.errors)} of ${whole(verdict.of)})`;
    if (multiplier === 1) return `Kept already: ${rate(end)} of these examples. No cost was changed.`;
    if (!kept) {
      return `No cost keeps ${resolved.budget.text} on these examples: the least that was reached is `
        + `${rate(end)}. The costs are as they were; allowing no answer may help.`;
    }
    return `Kept on these examples: ${rate(end)}, it was ${rate(start)}. The costs of its mistakes are `
      + `multiplied by ${multiplier.toLocaleString("en")}, the smallest number that does it.`;
  }

  // budgets: texts of those that were set, shared with the page. atFullWeight: sets the weight to 1.
  function create(by, model, data, budgets, atFullWeight, changed) {
    by("budget-example").textContent = example(model);
    by("budget").placeholder = example(model);
    const message = by("budget-message"), proof = by("proof");
    by("budget-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const stated = by("budget").value;
      proof.hidden = true;
      try {
        ExploreBudget.resolve(model, ExploreBudget.parse(stated));
      } catch (error) {
        if (!(error instanceof ExploreBudget.Complaint)) throw error;
        message.textContent = `That is not a budget: ${error.message}.`;
        return;
      }
      // Many classes take seconds: say so first.
      message.textContent = "Searching ...";
      document.querySelector("main").setAttribute("aria-busy", "true");
      setTimeout(() => search(stated), 30);
    });

    function search(stated) {
      atFullWeight();
      const found = ExploreBudget.keep(model, stated);
      const { text } = found.resolved.budget;
      if (found.kept && !budgets.includes(text)) budgets.push(text);
      message.textContent = `${sentence(found)} ${found.kept ? ESTIMATE : "This command says what it would take:"}`;
      proof.textContent = ExploreExport.control(data.given, [text], model.price !== null);
      proof.hidden = false;
      changed();
    }
  }

  // One line for each budget that was set: its rate now.
  function standing(model, budgets) {
    return budgets.map((text) => {
      let resolved;
      try {
        resolved = ExploreBudget.resolve(model, ExploreBudget.parse(text));
      } catch (error) {
        // A zone goes when its costs do.
        if (!(error instanceof ExploreBudget.Complaint)) throw error;
        return `${text}: covers no mistake now`;
      }
      const verdict = ExploreBudget.judge(model, resolved);
      return `${verdict.kept ? "✓" : "✗"} ${text}: now ${percent(verdict.rate)}, `
        + `${whole(verdict.errors)} of ${whole(verdict.of)}`;
    });
  }

  return { create, standing };
})();
