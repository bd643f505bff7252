/** Markdown to HTML, for pages of this project only: the text is trusted. */
import { Marked, type Token, type Tokens } from "marked";
import { createRequire } from "node:module";

interface Highlighter {
  registerLanguage(name: string, language: unknown): void;
  getLanguage(name: string): object | undefined;
  highlight(code: string, options: { readonly language: string }): { readonly value: string };
}

/** Without its types: they bring those of a browser, which contradict Node's. */
const require = createRequire(import.meta.url);
const highlighter = require("highlight.js/lib/core") as Highlighter;
/** Languages with colours. Code in another one, such as `text`, has none. */
const LANGUAGES = ["bash", "javascript", "json", "nginx", "python", "typescript", "yaml"];
for (const name of LANGUAGES) {
  highlighter.registerLanguage(name, require(`highlight.js/lib/languages/${name}`));
}

/** Titles of the languages in which the guide shows the same call. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  sh: "curl",
  ts: "TypeScript",
  python: "Python",
};

export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly id: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** Resolves the links of the Markdown files, and code with a page of its own. */
export interface Links {
  /** @returns Where the target of a link is served; the target itself for all others. */
  readonly target: (href: string) => string;
  /** @returns The page of the code; null when it has none. */
  readonly code: (text: string) => string | null;
}

const COMMENT = /^<!--[\s\S]*-->\s*$/;

export function renderMarkdown(text: string, links: Links): Rendered {
  const headings: Heading[] = [];
  let groups = 0;
  const marked = new Marked({
    extensions: [
      {
        name: "alternatives",
        // Radio buttons, so that the choice needs no script.
        renderer({ tokens = [] }: Tokens.Generic): string {
          const name = `code-${(groups += 1)}`;
          const choices = (tokens as Tokens.Code[]).map(({ lang = "" }, i) => {
            const id = `${name}-${lang}`;
            const checked = i === 0 ? " checked" : "";
            const radio = `<input type="radio" name="${name}" id="${id}" value="${lang}"${checked}>`;
            return `${radio}<label for="${id}">${ALTERNATIVES[lang]}</label>`;
          });
          const legend = '<legend class="for-readers">Language</legend>';
          const code = this.parser.parse(tokens);
          return `<fieldset class="tabs">${legend}${choices.join("")}\n${code}</fieldset>\n`;
        },
      },
    ],
    renderer: {
      heading({ tokens, depth: level, text: source }: Tokens.Heading): string {
        const inline = this.parser.parseInline(tokens);
        const html = inline.includes("<") ? inline : breakable(inline);
        const heading = { level, text: source.replaceAll("`", ""), id: slugOf(source) };
        headings.push(heading);
        return `<h${level} id="${heading.id}">${html}</h${level}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        return `<a href="${escapeHtml(links.target(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      image({ href, text: alt }: Tokens.Image): string {
        return `<img src="${escapeHtml(links.target(href))}" alt="${escapeHtml(alt)}">`;
      },
      codespan({ text: code }: Tokens.Codespan): string {
        const html = `<code>${breakable(escapeHtml(code))}</code>`;
        const href = links.code(code);
        return href === null ? html : `<a href="${href}">${html}</a>`;
      },
      // In a box of its own, for the scroll bar of a wide table. On a phone the cells of a row stand
      // below each other, each with the label of its column.
      table({ header, rows }: Tokens.Table): string {
        const inline = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens);
        const head = header.map((cell) => {
          // A header that names nothing would be read out all the same.
          return cell.text === "" ? "<td></td>" : `<th>${inline(cell)}</th>`;
        });
        const body = rows.map((row) => {
          const cells = row.map((cell, i) => {
            const label = header.length > 2 && i > 0 ? header[i]!.text.replaceAll("`", "") : "";
            const attribute = label === "" ? "" : ` data-label="${escapeHtml(label)}"`;
            return `<td${attribute}>${inline(cell)}</td>`;
          });
          return `<tr>${cells.join("")}</tr>\n`;
        });
        const parts = `<thead><tr>${head.join("")}</tr></thead><tbody>${body.join("")}</tbody>`;
        return `<div class="table"><table>${parts}</table></div>\n`;
      },
      code({ text: code, lang = "" }: Tokens.Code): string {
        return `<div class="code"><pre><code>${colored(code, lang)}\n</code></pre></div>\n`;
      },
      html({ text: html }: Tokens.HTML | Tokens.Tag): string {
        return COMMENT.test(html) ? "" : html;
      },
    },
  });
  return { html: marked.parser(grouped(marked.lexer(text))), headings };
}

/** Long paths break after a slash, error codes after an underscore. */
function breakable(html: string): string {
  return html.replaceAll(/(?<=\w\/|\}\/|[A-Z]_)(?=.)/g, "<wbr>");
}

/** Joins successive blocks of code, each in another language of the alternatives. */
function grouped(tokens: readonly Token[]): Token[] {
  const groups: Token[][] = [];
  for (const token of tokens.filter(({ type }) => type !== "space")) {
    const last = groups.at(-1);
    const languages = last?.map(languageOf) ?? [];
    const language = languageOf(token);
    const continues = language !== null && !languages.includes(language) && languages[0] !== null;
    if (continues && last !== undefined) last.push(token);
    else groups.push([token]);
  }
  return groups.flatMap((group) =>
    group.length === 1 ? group : [{ type: "alternatives", raw: "", tokens: group }],
  );
}

/** Of a block of code whose language is one of the alternatives; null of all else. */
function languageOf({ type, lang }: Token & { readonly lang?: string }): string | null {
  return type === "code" && lang !== undefined && lang in ALTERNATIVES ? lang : null;
}

function colored(code: string, language: string): string {
  if (highlighter.getLanguage(language) === undefined) return escapeHtml(code);
  return highlighter.highlight(code, { language }).value;
}

/** The id of a heading, as on code hosts. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!);
}
