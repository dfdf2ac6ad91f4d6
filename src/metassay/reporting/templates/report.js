"use strict";
(() => {
  const themes = JSON.parse(document.getElementById("themes").textContent);
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const charts = [];
  let scheme = null;

  function button(label, title, action) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "tool";
    made.textContent = label;
    made.title = title;
    made.addEventListener("click", action);
    return made;
  }

  function download(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Charts: drawn without eval (ast), again when the colour scheme changes.
  function dressed(spec) {
    const tokens = { ...themes[scheme].tokens, dark: scheme === "dark" };
    const params = spec.params.map((p) => (p.name in tokens ? { ...p, value: tokens[p.name] } : p));
    return { ...spec, params };
  }

  // Labels side by side where there is room, else slanted; thinned out only where they would collide.
  function axis(chart) {
    const { room, count } = chart.spec.usermeta?.labels ?? { room: 0, count: 1 };
    const width = chart.canvas.clientWidth - 100;
    const axisX = { labelAngle: width < room ? -40 : 0, labelOverlap: width < 14 * count ? "greedy" : false };
    return JSON.stringify({ axisX, axisY: { labelLimit: width < 380 ? 96 : 150 } });
  }

  async function draw(chart) {
    chart.axis = axis(chart);
    const { view } = await vegaEmbed(chart.canvas, dressed(chart.spec), {
      mode: "vega-lite",
      ast: true,
      actions: false,
      renderer: "svg",
      defaultStyle: false,
      config: { ...themes[scheme].config, ...JSON.parse(chart.axis) },
      tooltip: { disableDefaultStyle: true },
    });
    if (chart.view) chart.view.finalize();
    chart.view = view;
    if (chart.focus) await view.signal("focus", chart.focus).runAsync();
    chart.figure.dataset.drawn = scheme;
  }

  async function drawAll(wanted) {
    if (scheme === wanted) return;
    scheme = wanted;
    for (const chart of charts) await draw(chart);
    document.documentElement.dataset.ready = wanted;
  }

  function bindLegend(chart) {
    const keys = [...chart.figure.querySelectorAll(".pick")];
    for (const key of keys) {
      key.addEventListener("click", () => {
        chart.focus = chart.focus === key.dataset.metric ? "" : key.dataset.metric;
        for (const other of keys) other.setAttribute("aria-pressed", String(chart.focus === other.dataset.metric));
        if (chart.view) chart.view.signal("focus", chart.focus).runAsync();
      });
    }
  }

  for (const figure of document.querySelectorAll("figure.chart")) {
    const chart = {
      figure,
      canvas: figure.querySelector(".canvas"),
      spec: JSON.parse(figure.querySelector(".spec").textContent),
      focus: "",
    };
    charts.push(chart);
    bindLegend(chart);
    const save = async () => download(`${figure.id}.svg`, "image/svg+xml", await chart.view.toSVG());
    figure.append(button("SVG", "Download this chart as SVG", save));
  }

  // Tables: sorted by the full value of each cell, exported with it.
  function compare(a, b) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y;
  }

  function sortBy(table, heading, position) {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => row.cells[position].dataset.v;
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      if (value(a) === "" || value(b) === "") return compare(value(a), value(b));
      return descending ? compare(value(b), value(a)) : compare(value(a), value(b));
    });
    table.tBodies[0].append(...rows);
  }

  function csv(table) {
    const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const head = [...table.tHead.rows[0].cells].map((cell) => quoted(cell.textContent.trim()));
    const body = [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => quoted(cell.dataset.v)));
    return [head, ...body].map((cells) => cells.join(",")).join("\n") + "\n";
  }

  for (const block of document.querySelectorAll(".table")) {
    const table = block.querySelector("table");
    [...table.tHead.rows[0].cells].forEach((heading, position) => {
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.textContent = heading.textContent;
      sorter.addEventListener("click", () => sortBy(table, heading, position));
      heading.replaceChildren(sorter);
    });
    const save = () => download(`${block.dataset.name}.csv`, "text/csv", csv(table));
    block.append(button("CSV", "Download this table as CSV", save));
  }

  // Examples: one metric at a time, the first to begin with.
  const groups = [...document.querySelectorAll(".group")];
  const filters = [...document.querySelectorAll(".filter button")];
  function show(chosen) {
    for (const group of groups) group.hidden = group.dataset.group !== chosen;
    for (const filter of filters) filter.setAttribute("aria-pressed", String(filter.dataset.group === chosen));
  }
  for (const filter of filters) filter.addEventListener("click", () => show(filter.dataset.group));
  if (filters.length) show(filters[0].dataset.group);

  // Contents: mark where the reader is.
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.classList.remove("here");
      links.get(entry.target.id).classList.add("here");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const id of links.keys()) watcher.observe(document.getElementById(id));

  let resized = 0;
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => charts.filter((chart) => chart.axis !== axis(chart)).forEach(draw), 200);
  });

  const current = () => (prefersDark.matches ? "dark" : "light");
  prefersDark.addEventListener("change", () => drawAll(current()));
  addEventListener("beforeprint", () => drawAll("light"));
  addEventListener("afterprint", () => drawAll(current()));
  drawAll(current());
})();
