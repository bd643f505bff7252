/** The manifests of the guide about Kubernetes: one replica, names that fit, and a real server. */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { describeWith } from "../../support/programs.ts";
import { runCli, startServer, temporaryFolder } from "../../support/server-process.ts";

const PAGE = readFileSync("server/docs/guide/hosts/kubernetes.md", "utf8");
const [, YAML = ""] = /<!-- test: [^>]*-->\n```yaml\n([^]*?)```/.exec(PAGE) ?? [];

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly timeoutSeconds: number;
}
interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}
interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly Variable[];
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly resources: Readonly<Record<"requests" | "limits", { readonly memory: string }>>;
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
type Labels = Readonly<Record<string, string>>;
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly serviceName: string;
    readonly selector: { readonly matchLabels: Labels };
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly template: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: Readonly<Record<string, unknown>>;
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
    readonly volumeClaimTemplates: readonly {
      readonly metadata: { readonly name: string };
      readonly spec: { readonly accessModes: readonly string[] };
    }[];
  };
}

const DOCUMENTS = parseAllDocuments(YAML, { strict: true, uniqueKeys: true });
const [service, set] = DOCUMENTS.map((document) => document.toJS() as Manifest);
const { spec } = set!;
const pod = spec.template.spec;
const [container] = pod.containers;
const dockerfile = readFileSync("Dockerfile", "utf8");

test("the manifests are YAML, and their names and labels fit", () => {
  for (const { errors, warnings } of DOCUMENTS) expect([...errors, ...warnings]).toEqual([]);
  const kinds = [service!, set!].map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
  expect(kinds).toEqual(["v1 Service", "apps/v1 StatefulSet"]);
  expect(spec.serviceName).toBe(service!.metadata.name);
  expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
  expect(service!.spec.selector).toEqual(spec.template.metadata.labels);
  const [port] = container.ports;
  expect(service!.spec.ports[0]).toMatchObject({
    port: port!.containerPort,
    targetPort: port!.name,
  });
  const volumes = [...pod.volumes, ...spec.volumeClaimTemplates.map(({ metadata }) => metadata)];
  const mounts = container.volumeMounts.map(({ name }) => name);
  expect(mounts.toSorted()).toEqual(volumes.map(({ name }) => name).toSorted());
  const keys = container.env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
  expect(keys.length).toBeGreaterThan(2);
  for (const { name, key } of keys) {
    expect(PAGE).toContain(`secret generic ${name} `);
    expect(PAGE).toContain(`--from-literal=${key}=`);
  }
});

test("one pod alone has the volume, and its time to stop is that of the systemd unit", () => {
  expect(spec.replicas).toBe(1);
  expect(spec.volumeClaimTemplates.map((claim) => claim.spec.accessModes)).toEqual([
    ["ReadWriteOncePod"],
  ]);
  const unit = readFileSync("server/ops/frontrow.service", "utf8");
  const [, seconds] = /^TimeoutStopSec=(\d+)s$/m.exec(unit)!;
  expect(pod.terminationGracePeriodSeconds).toBe(Number(seconds));
});

test("the image finds its data, its port and its user, and runs without root", () => {
  expect(dockerfile).toContain(`FRONTROW_DATA=${container.volumeMounts[0]!.mountPath}`);
  expect(dockerfile).toContain(`EXPOSE ${container.ports[0]!.containerPort}`);
  // The user of the image of Node has the number 1000.
  expect(dockerfile).toMatch(/^USER node$/m);
  const [user, group] = [1_000, 1_000];
  const own = { runAsNonRoot: true, runAsUser: user, runAsGroup: group, fsGroup: group };
  expect(pod.securityContext).toMatchObject({ ...own, fsGroupChangePolicy: "OnRootMismatch" });
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  expect(container.resources.requests.memory).toBe(container.resources.limits.memory);
});

test("a server with its variables starts, and answers its probes in time", async () => {
  const env = Object.fromEntries(
    container.env.map(({ name, value }) => {
      return [name, value ?? "0123456789abcdef".repeat(4)];
    }),
  );
  const data = path.join(temporaryFolder(), "data");
  const server = await startServer({ folder: data, env });
  for (const { httpGet, timeoutSeconds } of [container.livenessProbe, container.readinessProbe]) {
    expect(httpGet.port).toBe(container.ports[0]!.name);
    const signal = AbortSignal.timeout(timeoutSeconds * 1_000);
    expect((await fetch(server.url + httpGet.path, { signal })).status).toBe(200);
  }
  const { stdout } = await runCli({ args: ["serve", "--help"] });
  for (const name of Object.keys(env)) expect(stdout).toContain(name);
});

describeWith(["kubectl", "openssl"], "kubectl, without a cluster", () => {
  test("its commands make the secret that the pod reads, and name the file of the manifests", async () => {
    const [, commands = ""] = /```sh\n([^]*?)```/.exec(PAGE)!;
    // Nothing is created: there is no cluster to talk to.
    const offline = `kubectl() {
      if [ "$1" = create ]; then command kubectl "$@" --dry-run=client -o json; else echo "$@" >&2; fi
    }`;
    const run = await promisify(execFile)("bash", ["-e", "-c", `${offline}\n${commands}`]);
    const { kind, metadata, data } = JSON.parse(run.stdout) as Record<string, object>;
    expect([kind, metadata]).toMatchObject(["Secret", { name: "frontrow" }]);
    const keys = container.env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.key ?? []);
    expect(Object.keys(data!).toSorted()).toEqual(keys.toSorted());
    for (const value of Object.values(data as Record<string, string>)) {
      expect(Buffer.from(value, "base64").toString()).toMatch(/^([0-9a-f]{2}){24,32}$/);
    }
    expect(run.stderr).toBe("apply -f frontrow.yaml\n");
    expect(PAGE).toContain("`frontrow.yaml`:");
  });

  // It drops members that it does not know, and refuses values of other types.
  test.each([
    [0, "Service", ["set", "selector", "app=frontrow"]],
    [1, "StatefulSet", ["set", "image", "frontrow=other"]],
  ] as const)("manifest %i → kubectl knows every member of the %s", (i, kind, command) => {
    const read = (document: unknown) => {
      const input = JSON.stringify(document);
      const args = [...command, "--local", "-o", "json", "-f", "-"];
      return spawnSync("kubectl", args, { encoding: "utf8", input });
    };
    const document = DOCUMENTS[i]!.toJS() as Manifest;
    const { status, stdout, stderr } = read(document);
    expect([status, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout.replace('"other"', JSON.stringify(container.image)))).toMatchObject(
      document,
    );
    expect(document.kind).toBe(kind);
    expect(read({ ...document, spec: { ...document.spec, selector: 7 } }).status).not.toBe(0);
  });
});
