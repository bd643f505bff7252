/** What a first request for a page costs: a module of its own, in which no page was made before. */
import { expect, test, vi } from "vitest";
import { docsAnswer } from "../../../server/docs/site.ts";
import { renderMarkdown } from "../../../server/docs/markdown.ts";

vi.mock("../../../server/docs/markdown.ts", { spy: true });

test("a request renders its page only, and once, so that nobody waits for all pages", () => {
  expect(docsAnswer("/docs/style.css").status).toBe(200);
  expect(docsAnswer("/docs/reference").status).toBe(200);
  expect(renderMarkdown).not.toHaveBeenCalled();
  const answer = docsAnswer("/docs/concepts");
  expect(answer.body).toContain("<h1");
  expect(docsAnswer("/docs/concepts")).toBe(answer);
  expect(renderMarkdown).toHaveBeenCalledTimes(1);
});
