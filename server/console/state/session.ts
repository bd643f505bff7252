/** Who is logged in. The key is in memory only: a reload forgets it. */
import { signal } from "@preact/signals";
import { Api } from "../api/http.ts";

export const api = signal<Api | null>(null);

export function logIn(key: string): Api {
  return (api.value = new Api(key));
}
