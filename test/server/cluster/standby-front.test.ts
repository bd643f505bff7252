/** What a host of a cluster answers while it follows, over a real socket. */
import { expect, onTestFinished, test } from "vitest";
import type { ClusterStatus } from "../../../persistence/cluster/options.ts";
import { Copies } from "../../../server/cluster/copies.ts";
import { StandbyFront } from "../../../server/cluster/host.ts";
import { listen } from "../../../server/http/server.ts";
import { STANDBY_STATUS } from "../../support/cluster-status.ts";

async function started(
  status: ClusterStatus = STANDBY_STATUS,
): Promise<(path: string, body?: string) => Promise<Response>> {
  const mayScrape = (authorization: string) => authorization === "Bearer right";
  const front = new StandbyFront(() => status, mayScrape, new Copies("nowhere", "right"));
  const http = await listen(front, {
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 10,
    trustedProxies: [],
    onBroken: (error) => {
      throw error;
    },
    onAnswer: undefined,
  });
  onTestFinished(() => http.close());
  const headers = { Authorization: "Bearer right" };
  return (path, body) => {
    const method = body === undefined ? "GET" : "POST";
    return fetch(`http://127.0.0.1:${http.port}${path}`, { method, headers, body: body ?? null });
  };
}

test.each(["/readyz", "/api/private/v2.0/events/", "/console"])(
  "a standby refuses %s, and names the leader",
  async (path) => {
    const get = await started();
    const response = await get(path);
    expect(response.status).toBe(503);
    expect(response.headers.get("x-frontrow-leader")).toBe("http://10.0.0.1:8080");
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({
      errorCode: "NOT_LEADER",
      detail: "This host is a standby; the leader is http://10.0.0.1:8080.",
    });
  },
);

test("a standby refuses a request with a body as it refuses any other", async () => {
  const send = await started();
  const response = await send("/api/private/v2.0/booking/lock", '{"sessionId":"a"}');
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ errorCode: "NOT_LEADER" });
});

test.each(["/x/..%2fmetrics", "/x%5cy", "//x/"])(
  "a standby refuses %s as its leader does",
  async (path) => {
    const get = await started();
    const response = await get(path);
    expect(response.status).toBe(400);
    expect(response.headers.get("x-frontrow-leader")).toBe(null);
    expect(await response.json()).toMatchObject({ errorCode: "MALFORMED_REQUEST" });
  },
);

test("without a leader a standby names none", async () => {
  const get = await started({ ...STANDBY_STATUS, leader: null });
  const response = await get("/readyz");
  expect([response.status, response.headers.get("x-frontrow-leader")]).toEqual([503, null]);
});

test("a standby answers its health, and the metrics of the cluster", async () => {
  const get = await started();
  expect((await get("/healthz")).status).toBe(200);
  const text = await (await get("/metrics")).text();
  expect(text).toContain('frontrow_cluster_role{role="standby"} 1\n');
  expect(text).toContain("frontrow_cluster_lag_seconds 1.5\n");
  expect(text).toContain("frontrow_cluster_etcd_has_leader 1\n");
  expect(text).toMatch(/^frontrow_cluster_host_sequence\{host="a",.*role="leader"\} 12$/m);
});
