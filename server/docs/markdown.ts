/** Markdown to HTML, for pages of this project only: the text is trusted. */
import { Marked, type Tokens } from "marked";

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
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth: level, text: source }: Tokens.Heading): string {
        const html = this.parser.parseInline(tokens);
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
        // A long path breaks after a slash.
        const html = `<code>${escapeHtml(code).replaceAll(/(?<=\w\/|\}\/)(?=.)/g, "<wbr>")}</code>`;
        const href = links.code(code);
        return href === null ? html : `<a href="${href}">${html}</a>`;
      },
      // In a box of its own, which scrolls where the table is wider than the page.
      table({ header, rows }: Tokens.Table): string {
        const inline = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens);
        const head = header.map((cell) => {
          // A header that names nothing would be read out all the same.
          return cell.text === "" ? "<td></td>" : `<th>${inline(cell)}</th>`;
        });
        const body = rows.map((row) => {
          const cells = row.map((cell) => `<td>${inline(cell)}</td>`);
          return `<tr>${cells.join("")}</tr>\n`;
        });
        const parts = `<thead><tr>${head.join("")}</tr></thead><tbody>${body.join("")}</tbody>`;
        return `<div class="table"><table>${parts}</table></div>\n`;
      },
      code({ text: code, lang = "" }: Tokens.Code): string {
        const language = lang === "" ? "" : ` class="language-${escapeHtml(lang)}"`;
        return `<div class="code"><pre><code${language}>${escapeHtml(code)}\n</code></pre></div>\n`;
      },
      html({ text: html }: Tokens.HTML | Tokens.Tag): string {
        return COMMENT.test(html) ? "" : html;
      },
    },
  });
  return { html: marked.parse(text, { async: false }), headings };
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
