(() => {
  // Filters are applied as soon as a menu changes. The address has only those that are set.
  const form = document.getElementById("filters");
  if (form) {
    const panel = form.querySelector("details");
    if (matchMedia("(max-width: 899px)").matches) panel.open = false;
    form.addEventListener("change", (event) => {
      // A context of the former column means nothing in the new one.
      if (event.target.name === "column") for (const menu of form.querySelectorAll("[name=context]")) menu.value = "";
      if (event.target.matches("select")) form.requestSubmit();
    });
    const checkboxes = [...form.querySelectorAll("[name=shown]")];
    form.addEventListener("submit", () => {
      // Disabled fields are not sent.
      for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
      const unchanged = !location.search.includes("shown=") && checkboxes.every((box) => box.checked === box.defaultChecked);
      if (unchanged) for (const box of checkboxes) box.disabled = true;
    });
    addEventListener("pageshow", (event) => {
      // The browser's back button shows the page as it was left, with disabled fields.
      if (!event.persisted) return;
      for (const field of form.elements) field.disabled = false;
      form.reset();
    });
    addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
      event.preventDefault();
      panel.open = true;
      form.elements.text.focus();
    });
  }

  // The search field of the list of runs keeps its text in the address.
  for (const field of document.querySelectorAll("[data-find]")) {
    field.value = new URL(location.href).searchParams.get("find") ?? "";
    page.search(document.getElementById(field.dataset.find), field, (text) => {
      const address = new URL(location.href);
      if (text) address.searchParams.set("find", text);
      else address.searchParams.delete("find");
      if (address.href !== location.href) history.replaceState(null, "", address);
    });
  }
})();
