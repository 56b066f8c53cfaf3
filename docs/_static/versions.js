// Fill the menu of versions from its JSON file, and go to the version that is chosen.
document.querySelectorAll("label.versions").forEach(async (label) => {
  const answer = await fetch(label.dataset.versions).catch(() => null);
  if (!answer || !answer.ok) return;
  const menu = label.querySelector("select");
  for (const { name, url } of await answer.json()) {
    menu.add(new Option(name, url, false, name === label.dataset.current));
  }
  if (![...menu.options].some((option) => option.defaultSelected)) {
    menu.add(new Option(label.dataset.current, "", true, true), 0);
  }
  menu.addEventListener("change", () => menu.value && window.location.assign(menu.value));
  label.hidden = false;
});
