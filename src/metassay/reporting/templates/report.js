(() => {
  const themes = JSON.parse(document.getElementById("themes").textContent);
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const charts = [];
  let scheme = null;

  // Charts: drawn without eval (ast), again when the colour scheme changes.
  // Long names are broken into lines of `wrap` characters, and rows are as high as their names.
  function dressed(chart) {
    const { spec } = chart;
    const wrap = chart.canvas.clientWidth < 480 ? 14 : 30;
    const values = { ...themes[scheme].tokens, dark: scheme === "dark", wrap };
    const params = spec.params.map((p) => (p.name in values ? { ...p, value: values[p.name] } : p));
    const rows = spec.usermeta?.rows;
    const height = rows ? rows.count * Math.max(rows.step, 13 * Math.min(6, Math.ceil(rows.longest / wrap)) + 4) : spec.height;
    return { ...spec, params, height };
  }

  // Labels side by side where there is room, else slanted; thinned out only where they would collide.
  function axis(chart) {
    const { room, count } = chart.spec.usermeta?.labels ?? {};
    const width = chart.canvas.clientWidth - 100;
    const axisX = count === undefined ? { labelOverlap: "parity" } : { labelAngle: width < room ? -40 : 0, labelOverlap: width < 14 * count ? "greedy" : false };
    return JSON.stringify({ axisX, axisY: { labelLimit: width < 380 ? 110 : Math.max(150, 0.45 * width) } });
  }

  async function draw(chart) {
    chart.axis = axis(chart);
    chart.scheme = scheme;
    const { view } = await vegaEmbed(chart.canvas, dressed(chart), {
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
    chart.canvas.querySelector("svg").setAttribute("aria-hidden", "true"); // the canvas says what there is to see
    if (chart.focus) await view.signal("focus", chart.focus).runAsync();
    chart.figure.dataset.drawn = chart.scheme;
  }

  // What is folded away or not chosen is drawn once it is looked at.
  async function drawShown() {
    for (const chart of charts) if (chart.scheme !== scheme && chart.canvas.clientWidth) await draw(chart);
  }

  async function drawAll(wanted) {
    if (scheme === wanted) return;
    scheme = wanted;
    await drawShown();
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
    const save = async () => page.download(`${figure.id}.svg`, "image/svg+xml", await chart.view.toSVG());
    figure.append(page.button("SVG", "Download this chart as SVG", save));
  }

  // Choices: one at a time, the first to begin with.
  for (const chooser of document.querySelectorAll("[data-choose]")) {
    const choices = [...document.querySelectorAll(".choice")].filter((each) => each.dataset.of === chooser.dataset.choose);
    const choose = () => {
      for (const each of choices) each.hidden = each.dataset.choice !== chooser.value;
      if (scheme) drawShown();
    };
    chooser.addEventListener("change", choose);
    choose();
  }
  document.addEventListener("toggle", () => { if (scheme) drawShown(); }, true);

  // Links into what is folded away open it.
  function openTarget() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const inside = target.matches(".collapsed") ? [target.querySelector("details")] : [];
    for (let each = target; each; each = each.parentElement) if (each.matches("details")) inside.push(each);
    if (!inside.some((each) => !each.open)) return;
    for (const each of inside) each.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", openTarget);
  openTarget();

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
    resized = setTimeout(() => charts.filter((chart) => chart.view && chart.canvas.clientWidth && chart.axis !== axis(chart)).forEach(draw), 200);
  });

  const current = () => (prefersDark.matches ? "dark" : "light");
  prefersDark.addEventListener("change", () => drawAll(current()));
  addEventListener("beforeprint", () => drawAll("light"));
  addEventListener("afterprint", () => drawAll(current()));
  drawAll(current());
})();
