"use strict";
// What one takes away: costs as a file that `Penalty.load` reads, and command lines.
const ExploreExport = (() => {
  // JSON's strings are TOML's, but for one control character.
  const quoted = (text) => JSON.stringify(text).replaceAll("\x7f", "\\u007f");

  // The commonest cost as default, of equally common ones the cheapest; the rest as rules.
  function toml(classes, costs, comment) {
    const k = classes.length;
    const times = new Map();
    for (let at = 0; at < k * k; at++) {
      if (Math.floor(at / k) !== at % k) times.set(costs[at], (times.get(costs[at]) || 0) + 1);
    }
    let usual = 0, most = 0;
    for (const [cost, count] of times) if (count > most || (count === most && cost < usual)) [usual, most] = [cost, count];
    const lines = comment.map((line) => `# ${line.replace(/[\x00-\x1f\x7f]/g, " ")}`);
    lines.push("classes = [", ...classes.map((name) => `    ${quoted(name)},`), "]");
    lines.push(`default = ${usual}`);
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < k; j++) {
        const cost = costs[i * k + j];
        if (i === j || cost === usual) continue;
        lines.push("", "[[rule]]", `true = ${quoted(classes[i])}`,
          `predicted = ${quoted(classes[j])}`, `cost = ${cost}`);
      }
    }
    return `${lines.join("\n")}\n`;
  }

  function shell(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
  }

  function commands(model, given, budgets) {
    const price = model.price === null ? "" : `, abstain_cost=${model.price}`;
    return [
      "# What these costs say about the file as it is, and about deciding by them:",
      `untrue audit ${given} --penalty costs.toml`,
      "",
      "# The same decision in Python:",
      `# untrue.decide(probs, untrue.Penalty.load("costs.toml")${price})`,
      ...(budgets.length ? ["", "# The proof that budgets hold beyond these examples:",
        control(given, budgets, model.price !== null)] : []),
    ].join("\n");
  }

  function control(given, budgets, abstain) {
    const stated = budgets.map((text) => `--budget ${shell(text)}`).join(" ");
    return `untrue control ${given} ${stated} --penalty costs.toml${abstain ? " --abstain" : ""}`
      + " --out rule.json";
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  return { toml, commands, control, save };
})();
