// The script of the pages: search, copy buttons, tabs that follow each other, keyboard access to wide
// boxes. Everything else of a page works without it. The policy of the pages allows no inline script
// and no HTML from text.

const RESULTS_MAX = 12;
const EXCERPT_LENGTH = 150;
const COPIED_MS = 2_000;

/**
 * @typedef {object} Section
 * @property {string} path - With the fragment of its heading.
 * @property {string} page - Title of its page.
 * @property {string} title - Its heading.
 * @property {string} text
 */

/** Read out by screen readers when it changes. */
const spoken = document.createElement("p");
spoken.className = "for-readers";
spoken.role = "status";
document.body.append(spoken);

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {string} className
 * @param {...(string | Node)} content
 */
function element(name, className, ...content) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
}

// Boxes wider than the page: Safari does not let the keyboard scroll them by itself.

const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
    else target.removeAttribute("tabindex");
  }
});
for (const box of document.querySelectorAll("main pre, main .table")) widths.observe(box);

// Copy buttons.

/** @param {Element} code */
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return "Copied";
  } catch {
    // Over plain HTTP a page has no clipboard; the reader presses the key.
    getSelection()?.selectAllChildren(code);
    return "Selected";
  }
}

for (const code of document.querySelectorAll("main pre > code")) {
  const button = element("button", "copy", "Copy");
  button.type = "button";
  button.ariaLabel = "Copy this code";
  button.addEventListener("click", async () => {
    const done = await copy(code);
    button.textContent = done;
    spoken.textContent = done;
    setTimeout(() => {
      button.textContent = "Copy";
      spoken.textContent = "";
    }, COPIED_MS);
  });
  code.parentElement?.before(button);
}

// Tabs: a language that is chosen once is shown everywhere on the page.

/** @type {NodeListOf<HTMLInputElement>} */
const choices = document.querySelectorAll(".tabs > input");
for (const choice of choices) {
  choice.addEventListener("change", () => {
    const top = choice.getBoundingClientRect().top;
    for (const other of choices) other.checked ||= other.value === choice.value;
    // The blocks above have other heights now.
    scrollBy(0, choice.getBoundingClientRect().top - top);
  });
}

// Search.

const form = /** @type {HTMLFormElement} */ (document.querySelector(".search"));
const input = /** @type {HTMLInputElement} */ (form.querySelector("input"));
const results = /** @type {HTMLElement} */ (form.querySelector(".results"));
/** @type {Promise<readonly Section[]> | undefined} */
let index;

async function readIndex() {
  const response = await fetch("/docs/search.json");
  if (!response.ok) throw new Error(`the index answers ${response.status}`);
  return /** @type {Promise<readonly Section[]>} */ (response.json());
}

/** @param {string} text */
function wordsOf(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/**
 * @param {string} text
 * @param {string} word
 * @returns {number} Where a word of the text begins with it: `sse` is not in `addresses`. -1 for none.
 */
function placeOf(text, word) {
  const start = /[\p{L}\p{N}]/u.test(word[0] ?? "") ? "(?<![\\p{L}\\p{N}])" : "";
  const plain = word.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  return text.toLowerCase().search(new RegExp(start + plain, "u"));
}

/**
 * A word counts most where a heading is it, then has it as a word, then in the title of the page, then
 * in the text.
 *
 * @param {Section} section
 * @param {readonly string[]} words
 * @returns {number} 0 unless the section has every word.
 */
function scoreOf({ page, title, text }, words) {
  const heading = title.toLowerCase();
  let score = 0;
  for (const word of words) {
    if (heading === word) score += 60;
    else if (wordsOf(heading).some((one) => one.startsWith(word))) score += 20;
    else if (placeOf(title, word) >= 0) score += 12;
    else if (placeOf(page, word) >= 0) score += 4;
    else if (placeOf(text, word) >= 0) score += 1;
    else return 0;
  }
  return heading === words.join(" ") ? score + 60 : score;
}

/**
 * @param {string} text
 * @param {readonly string[]} words
 * @returns {DocumentFragment} The text with its first occurrence of each word marked.
 */
function marked(text, words) {
  const shown = document.createDocumentFragment();
  const spans = words
    .map((word) => [placeOf(text, word), word.length])
    .filter(([at = -1]) => at >= 0)
    .sort(([a = 0], [b = 0]) => a - b);
  let end = 0;
  for (const [at = 0, length = 0] of spans) {
    if (at < end) continue;
    shown.append(text.slice(end, at), element("mark", "", text.slice(at, at + length)));
    end = at + length;
  }
  shown.append(text.slice(end));
  return shown;
}

/**
 * @param {string} text
 * @param {readonly string[]} words
 */
function excerptOf(text, words) {
  const at = Math.min(...words.map((word) => placeOf(text, word)).filter((i) => i >= 0));
  const isNear = !Number.isFinite(at) || at < EXCERPT_LENGTH / 2;
  const start = isNear ? 0 : text.indexOf(" ", at - EXCERPT_LENGTH / 3) + 1;
  if (start + EXCERPT_LENGTH >= text.length) return (isNear ? "" : "… ") + text.slice(start);
  const end = Math.max(text.lastIndexOf(" ", start + EXCERPT_LENGTH), start + EXCERPT_LENGTH / 2);
  return `${isNear ? "" : "… "}${text.slice(start, end)} …`;
}

/**
 * @param {Section} section
 * @param {readonly string[]} words
 */
function resultOf({ path, page, title, text }, words) {
  const link = element("a", "", element("strong", "", marked(title, words)));
  link.href = path;
  if (page !== title) link.append(element("span", "page", page));
  link.append(element("span", "excerpt", marked(excerptOf(text, words), words)));
  return element("li", "", link);
}

function close() {
  results.hidden = true;
  results.replaceChildren();
}

async function search() {
  const asked = input.value;
  const words = wordsOf(asked);
  if (words.length === 0) {
    close();
    spoken.textContent = "";
    return;
  }
  let sections;
  try {
    sections = await (index ??= readIndex());
  } catch {
    index = undefined;
    show(element("p", "none", "The search index did not load. Type again to try once more."));
    return;
  }
  // The reader has typed on meanwhile.
  if (input.value !== asked) return;
  const found = sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  if (found.length === 0) {
    show(
      element("p", "none", "Nothing has all of these words. Try fewer, or the beginning of one."),
    );
    return;
  }
  const items = found.slice(0, RESULTS_MAX).map(({ section }) => resultOf(section, words));
  show(element("ol", "", ...items));
  spoken.textContent = `${found.length} ${found.length === 1 ? "result" : "results"}`;
}

/** @param {HTMLElement} content */
function show(content) {
  results.replaceChildren(content);
  results.hidden = false;
  spoken.textContent = content.textContent;
}

function links() {
  return /** @type {HTMLElement[]} */ ([...results.querySelectorAll("a")]);
}

form.hidden = false;
input.addEventListener("input", () => void search());
input.addEventListener("focus", () => void search());
form.addEventListener("submit", (event) => {
  event.preventDefault();
  links()[0]?.click();
});
form.addEventListener("keydown", (event) => {
  const stops = [input, ...links()];
  const at = stops.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (event.key === "Escape") {
    input.focus();
    close();
  } else if (step !== 0 && at >= 0) {
    stops[Math.max(0, Math.min(at + step, stops.length - 1))]?.focus();
  } else return;
  event.preventDefault();
});
// A result of the page itself leaves the page as it is.
results.addEventListener("click", close);
document.addEventListener("pointerdown", ({ target }) => {
  if (target instanceof Node && !form.contains(target)) close();
});
form.addEventListener("focusout", ({ relatedTarget }) => {
  if (relatedTarget instanceof Node && !form.contains(relatedTarget)) close();
});
document.addEventListener("keydown", (event) => {
  const { target, key, ctrlKey, metaKey, altKey } = event;
  const isTyping =
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, textarea, select"));
  if (key !== "/" || ctrlKey || metaKey || altKey || isTyping) return;
  event.preventDefault();
  input.focus();
  input.select();
});
