/** Circles of imports: files that import each other, directly or through others. */

/**
 * Tarjan's algorithm: R. Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on
 * Computing 1(2), 1972.
 * @param imports - The imported files of each file.
 * @returns Each circle as its files, sorted.
 */
export function findCircles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const indexes = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const index = indexes.size;
    let low = index;
    indexes.set(file, index);
    stack.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!indexes.has(target)) low = Math.min(low, visit(target));
      else if (stack.includes(target)) low = Math.min(low, indexes.get(target)!);
      if (target === file) circles.push([file]);
    }
    if (low === index) {
      const circle = stack.splice(stack.indexOf(file));
      if (circle.length > 1) circles.push(circle.toSorted());
    }
    return low;
  };
  for (const file of imports.keys()) if (!indexes.has(file)) visit(file);
  return circles;
}
