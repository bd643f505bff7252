/** The section of `frontrow status` about the cluster that a host belongs to. */
import type { Paint } from "../onsale/terminal.ts";
import { bytesText, durationText, numberText } from "./format.ts";
import type { Scrape } from "./scrape.ts";

const NAME_LENGTH = 11;

/** @returns No lines for a server that is not a host of a cluster. */
export function clusterLines(scrape: Scrape, paint: Paint): string[] {
  const info = scrape.series("frontrow_cluster_info")[0]?.labels;
  if (info === undefined) return [];
  const value = (name: string) => scrape.sum(`frontrow_cluster_${name}`);
  const hosts = scrape.series("frontrow_cluster_host_sequence");
  const newest = Math.max(0, ...hosts.map((host) => host.value));
  const line = (name: string, text: string) => `  ${name.padEnd(NAME_LENGTH)}${text}`;
  const majority = value("etcd_has_leader") === 1 ? "has a leader" : paint("red", "HAS NO LEADER");
  const etcd =
    value("etcd_up") === 0
      ? paint("red", "DOES NOT ANSWER")
      : `${bytesText(value("etcd_database_bytes"))}, ${majority}`;
  const alarms = value("etcd_alarms") > 0 ? `, ${paint("red", "HAS ALARMS")}` : "";
  const lag = value("lag_seconds");
  const retained = value("retained_bytes");
  return [
    "",
    paint("bold", "CLUSTER"),
    line("cell", `${info["cell"]}, this is ${info["host"]}, ${roleIn(scrape)}`),
    line("leader", info["leader"] === "" ? "none" : `${info["leader"]}, ${info["leader_address"]}`),
    ...hosts.map(({ labels, value: sequence }) => {
      const behind = sequence < newest ? `, ${numberText(newest - sequence)} behind` : "";
      return line(
        labels["host"] ?? "",
        `${labels["role"]}, record ${numberText(sequence)}${behind}`,
      );
    }),
    ...(lag > 0 ? [line("lag", durationText(lag))] : []),
    line("etcd", `${etcd}${alarms}`),
    // Only the leader knows it.
    ...(retained > 0 ? [line("in etcd", bytesText(retained))] : []),
  ];
}

/** The role of a host, as it says. */
export function roleIn(scrape: Scrape): string {
  const role = scrape.series("frontrow_cluster_role").find((series) => series.value === 1);
  return role?.labels["role"] ?? "?";
}
