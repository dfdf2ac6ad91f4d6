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

  // The list of runs: what is looked for stands in the address.
  for (const field of document.querySelectorAll("[data-find]")) {
    field.value = new URL(location.href).searchParams.get("find") ?? "";
    page.search(document.getElementById(field.dataset.find), field, (wanted) => {
      const address = new URL(location.href);
      if (wanted) address.searchParams.set("find", wanted);
      else address.searchParams.delete("find");
      if (address.href !== location.href) history.replaceState(null, "", address);
    });
  }
})();
