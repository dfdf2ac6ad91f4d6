"use strict";
(() => {
  // Filters: asked at once, and only what is asked for stands in the address.
  const ask = document.getElementById("ask");
  if (ask) {
    const panel = ask.querySelector("details");
    if (matchMedia("(max-width: 899px)").matches) panel.open = false;
    ask.addEventListener("change", (event) => {
      if (event.target.name === "column") for (const each of ask.querySelectorAll("[name=context]")) each.value = "";
      if (event.target.matches("select")) ask.requestSubmit();
    });
    const shown = [...ask.querySelectorAll("[name=show]")];
    ask.addEventListener("submit", () => {
      for (const each of ask.elements) if (each.name && each.value === "") each.disabled = true;
      const asIs = !location.search.includes("show=") && shown.every((each) => each.checked === each.defaultChecked);
      if (asIs) for (const each of shown) each.disabled = true;
    });
    addEventListener("pageshow", (event) => {
      if (!event.persisted) return;
      for (const each of ask.elements) each.disabled = false;
      ask.reset();
    });
    addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
      event.preventDefault();
      panel.open = true;
      ask.elements.text.focus();
    });
  }

  // Tables: sorted by the full value of each cell, and searched.
  function compare(a, b) {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y;
  }

  function sortBy(table, heading, position) {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => row.cells[position].dataset.v;
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === "");
      return (descending ? -1 : 1) * compare(value(a), value(b));
    });
    table.tBodies[0].append(...rows);
  }

  for (const table of document.querySelectorAll(".table[data-name] table")) {
    [...table.tHead.rows[0].cells].forEach((heading, position) => {
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.textContent = heading.textContent;
      sorter.addEventListener("click", () => sortBy(table, heading, position));
      heading.replaceChildren(sorter);
    });
  }

  for (const field of document.querySelectorAll("[data-find]")) {
    const rows = [...document.getElementById(field.dataset.find).tBodies[0].rows];
    const find = () => {
      const wanted = field.value.toLocaleLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLocaleLowerCase().includes(wanted);
      const address = new URL(location.href);
      if (field.value) address.searchParams.set("find", field.value);
      else address.searchParams.delete("find");
      if (address.href !== location.href) history.replaceState(null, "", address);
    };
    field.value = new URL(location.href).searchParams.get("find") ?? "";
    if (field.value) find();
    field.addEventListener("input", find);
  }
})();
