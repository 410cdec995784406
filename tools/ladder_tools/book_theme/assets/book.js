// The theme opens its drawer, its search and the parts of its navigation, and changes its colours, by
// labels, which a keyboard does not reach.
function makeButton(label, name, then) {
  label.tabIndex = 0;
  label.setAttribute("role", "button");
  label.setAttribute("aria-label", name);
  label.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    label.click();
    if (then) setTimeout(then);
  });
}

for (const label of document.querySelectorAll("label.md-header__button[for='__drawer'], label.md-header__button[for='__search']"))
  makeButton(label, label.htmlFor === "__drawer" ? "Navigation" : "Search");
for (const label of document.querySelectorAll(".md-nav__item--nested > label.md-nav__link, .md-nav__link--index > label"))
  makeButton(label, `Pages of ${(label.closest(".md-nav__link--index") || label).textContent.trim()}`);
for (const label of document.querySelectorAll("label.md-nav__title[for^='__nav']")) makeButton(label, `Back from ${label.textContent.trim()}`);
for (const label of document.querySelectorAll("label.md-nav__link[for='__toc']")) makeButton(label, "Table of contents of this page");
const colours = document.querySelector("[data-md-component=palette]");
for (const radio of colours.querySelectorAll("input")) {
  radio.tabIndex = -1;
  radio.setAttribute("aria-hidden", "true");
}
for (const label of colours.querySelectorAll("label")) makeButton(label, label.title, () => colours.querySelector("label:not([hidden])").focus());

// #L12-L20 marks these lines, and #L12 one.
function markLines() {
  const [, first, last] = location.hash.match(/^#L(\d+)(?:-L?(\d+))?$/) || [];
  document.querySelectorAll(".source .marked").forEach((line) => line.classList.remove("marked"));
  for (let at = Number(first); at <= Number(last || first); ++at) document.getElementById(`L${at}`)?.classList.add("marked");
  if (last) document.getElementById(`L${first}`)?.scrollIntoView();
}
addEventListener("hashchange", markLines);
markLines();
