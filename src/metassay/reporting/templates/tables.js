"use strict";
// Tables of every page: sorted by the full value of each cell, searched where they are long, saved as CSV.
const page = (() => {
  const SEARCHED_FROM = 16;

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

  // An apostrophe keeps spreadsheets from executing a text that looks like a formula; numbers stay.
  function escapeFormula(text) {
    const isFormula = /^[=+\-@\t\r]/.test(text);
    const isNumber = /^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$/.test(text);
    return isFormula && !isNumber ? `'${text}` : text;
  }

  function csv(table) {
    const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const quoted = (text) => quote(escapeFormula(text));
    const head = [...table.tHead.rows[0].cells].map((cell) => quoted(cell.textContent.trim()));
    const body = [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => quoted(cell.dataset.v)));
    return [head, ...body].map((cells) => cells.join(",")).join("\n") + "\n";
  }

  // Rows without the text that is looked for are hidden.
  function search(table, field, changed = () => {}) {
    const rows = [...table.tBodies[0].rows];
    const find = () => {
      const wanted = field.value.toLocaleLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLocaleLowerCase().includes(wanted);
      changed(field.value);
    };
    field.addEventListener("input", find);
    if (field.value) find();
  }

  for (const block of document.querySelectorAll(".table[data-name]")) {
    const table = block.querySelector("table");
    [...table.tHead.rows[0].cells].forEach((heading, position) => {
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.textContent = heading.textContent;
      sorter.addEventListener("click", () => sortBy(table, heading, position));
      heading.replaceChildren(sorter);
    });
    if (table.tBodies[0].rows.length >= SEARCHED_FROM && !block.querySelector("[data-find]")) {
      const field = Object.assign(document.createElement("input"), { type: "search", autocomplete: "off" });
      const label = Object.assign(document.createElement("label"), { className: "find", textContent: "Find " });
      label.append(field);
      block.prepend(label);
      search(table, field);
    }
    const save = () => download(`${block.dataset.name}.csv`, "text/csv", csv(table));
    block.append(button("CSV", "Download this table as CSV", save));
  }

  return { button, download, search };
})();
