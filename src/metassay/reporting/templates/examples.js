// Pairs that metrics got wrong: chosen by metric, method, system, context and text; a few at a time.
(() => {
  const block = document.getElementById("kept-pairs");
  if (!block) return;
  const AT_ONCE = 5;
  const { pairs, metrics, contexts } = JSON.parse(block.textContent);
  const form = document.getElementById("look");
  const place = document.getElementById("pairs");
  const matches = document.getElementById("matches");

  function made(tag, text = "", kind = "") {
    const element = document.createElement(tag);
    element.textContent = text;
    if (kind) element.className = kind;
    return element;
  }

  // The words of one side: 0 the output, 1 the worse output; what the other does not have is marked.
  function words(edits, side) {
    const line = made("dd");
    line.dir = "auto";
    for (const [differs, before, after] of edits) {
      const text = differs && side ? after : before;
      if (text) line.append(differs ? made(side ? "ins" : "del", text) : text, " ");
    }
    return line;
  }

  function aligned([edits, errors]) {
    const line = made("dd");
    for (const [differs, before, after] of edits) {
      if (!differs) line.append(before, " ");
      else if (before && after) line.append(Object.assign(made("span", after, "swap"), { title: `the reference has: ${before}` }), " ");
      else line.append(made(before ? "del" : "ins", before || after), " ");
    }
    line.append(made("small", errors));
    return line;
  }

  function row(name, ...cells) {
    const line = made("div");
    line.append(made("dt", name), ...cells);
    return line;
  }

  function lists(pair) {
    const table = made("table", "", "lists");
    const head = table.createTHead().insertRow();
    for (const name of ["rank", "output", "grade", "worse", "grade", "moved"]) head.append(made("th", name));
    const body = table.createTBody();
    for (const cells of pair.lists) {
      const line = body.insertRow();
      for (const cell of cells) line.insertCell().textContent = cell;
      if (cells[5]) line.className = "moved";
    }
    return table;
  }

  function texts(pair, chosen) {
    const list = made("dl");
    const scores = pair.judged.find(([metric]) => metric === chosen) ?? [];
    if (pair.source) list.append(row("source", Object.assign(made("dd", pair.source), { dir: "auto" })));
    for (const text of pair.references) list.append(row("reference", Object.assign(made("dd", text), { dir: "auto" })));
    list.append(row("output", words(pair.edits, 0), made("dd", scores[1] ?? "", "score")));
    list.append(row("worse", words(pair.edits, 1), made("dd", scores[2] ?? "", "score")));
    return list;
  }

  function card(pair, chosen) {
    const article = made("article", "", "pair");
    const line = made("p", "", "place");
    const places = [["item", pair.item], ["system", pair.system], ["perturbation", pair.method], ...pair.contexts];
    for (const [name, text] of places.filter(([, each]) => each)) {
      const part = made("span");
      part.append(made("b", name), ` ${text}`);
      line.append(part, " ");
    }
    const said = pair.judged.filter(isWrong).map(([metric, , , of]) => `${metrics[metric]}${of ? " prefers the worse one" : " sees no difference"}`);
    line.append(made("span", said.slice(0, 3).join(", ") + (said.length > 3 ? ` and ${said.length - 3} more` : ""), "verdict"));
    article.append(line, pair.lists ? lists(pair) : texts(pair, chosen));
    if (pair.alignments) {
      const details = made("details");
      const list = made("dl");
      pair.alignments.forEach((side, n) => list.append(row(n ? "worse" : "output", aligned(side))));
      details.append(made("summary", "Against the reference, word by word"), list);
      article.append(details);
    }
    return article;
  }

  const isWrong = ([, , , said]) => said < 1;
  const plain = (pair) => JSON.stringify([pair.item, pair.source, pair.references, pair.edits, pair.lists]).toLocaleLowerCase();
  let shown = [];

  function more() {
    const chosen = form.elements.metric.value === "" ? -1 : Number(form.elements.metric.value);
    const from = place.querySelectorAll(".pair").length;
    place.querySelector(".tool")?.remove();
    place.append(...shown.slice(from, from + AT_ONCE).map((pair) => card(pair, chosen < 0 ? pair.judged.find(isWrong)?.[0] : chosen)));
    if (from + AT_ONCE < shown.length) place.append(page.button("Show more", "Show more pairs", more));
  }

  function look() {
    const asked = Object.fromEntries(["metric", "method", "system", "context", "text"].map((name) => [name, form.elements[name]?.value ?? ""]));
    const doubtful = form.elements.doubtful?.checked ?? false;
    const wanted = asked.text.toLocaleLowerCase();
    const within = asked.context === "" ? null : contexts[Number(asked.context)];
    shown = pairs.filter((pair) => pair.doubtful === doubtful
      && (asked.metric === "" || pair.judged.some((each) => isWrong(each) && each[0] === Number(asked.metric)))
      && (!asked.method || pair.method === asked.method)
      && (!asked.system || pair.system === asked.system)
      && (!within || pair.contexts.some(([name, label]) => name === within[0] && label === within[1]))
      && (!wanted || plain(pair).includes(wanted)));
    matches.textContent = `${shown.length} of ${pairs.length} pairs`;
    place.replaceChildren();
    more();
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", look);
  look();
})();
