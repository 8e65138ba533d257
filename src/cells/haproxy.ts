import { CHECK, ROUTER_HEADER } from "../core/router.ts";
import { type Cell, type CellList, hostOf, isPair, type Router } from "./list.ts";
import {
  API_PATH,
  CLOSED_PATHS,
  CROOKED_PATH,
  FILE_RETRIES,
  FILES_PATH,
  ID_PATHS,
  type Refusal,
  REFUSALS,
  TIME_CHARS,
  TOKEN_PREFIXES,
  WAITS,
} from "./ways.ts";

/**
 * The configuration of HAProxy 2.6 or later for a list of cells. It reads the cell out of a request's key,
 * token or path, and hands the request to the machine of that cell that is ready. Source: the HAProxy
 * Configuration Manual, version 2.6, sections 4.2 (keywords), 7.3 (samples) and 8.2.4 (log format).
 */
export function haproxyConfig({ cells, router }: CellList): string {
  return [
    HEAD,
    ...(cells.some(hasName) ? [RESOLVERS] : []),
    frontend(cells, router),
    ...cells.map(cellBackend),
    backend("any_cell", RETRIED, cells.flatMap(tracked)),
    backend("any_file", FILES_RETRIED, cells.flatMap(tracked)),
  ].join("\n\n");
}

/** The id of a request, as HAProxy writes it. */
const REQUEST_ID = "%[var(txn.id)]";

/** A machine that no connection leads to has read nothing. One that answers 503 may have taken the event. */
const RETRIED = ["retry-on conn-failure"];

/**
 * While no machine of a pair is ready, which one hands over or is lost, a request waits: what is chosen then
 * refuses the connection, once a second, and so has read nothing.
 */
const WAITED = [...RETRIED, `retries ${WAITS.machine}`];
const NOBODY = "server nobody 127.0.0.1:1 backup";

/** Files are the same at every cell, except while some of them are being upgraded. */
const FILES_RETRIED = ["retry-on conn-failure 404", `retries ${FILE_RETRIES}`];

const HEAD = `# Made by \`sealpost cells config haproxy\`: change the list of cells, and make it anew.
global
  log stdout format raw local0 info

defaults
  mode http
  log global
  # The path without its query, in which some providers send a secret.
  log-format "%ci %ST %HM %HPO %b/%s %Ta ms %B bytes %ts"
  option dontlognull
  timeout connect ${WAITS.connect}s
  timeout http-request ${WAITS.head}s
  timeout http-keep-alive ${WAITS.idle}s
  timeout client ${WAITS.answer}s
  timeout server ${WAITS.answer}s
  timeout check ${CHECK.timeoutSeconds}s
  # Once more, at another machine where one is ready.
  retries 1
  option redispatch 1
  http-error status 503 ${answerOf(REFUSALS.noMachine)}`;

/** HAProxy's timers end at 24 days. */
const DAYS_OF_HOLD = 20;

/**
 * A machine is ready or not by its check alone: while a name server fails, its last address holds. Not so
 * `obsolete`: an address that the name server has no more is given up at once.
 */
const RESOLVERS = [
  "resolvers system",
  "parse-resolv-conf",
  ...["nx", "refused", "timeout", "other"].map((what) => `hold ${what} ${DAYS_OF_HOLD}d`),
].join("\n  ");

function frontend(cells: readonly Cell[], router: Router): string {
  const secured = router.certificate === null ? "" : ` ssl crt ${router.certificate} alpn h2,http/1.1`;
  return [
    "frontend sealpost",
    `bind ${router.listen}${secured}`,
    "http-request set-var(txn.id) uuid",
    `http-request set-header ${ROUTER_HEADER} haproxy`,
    ...addresses(router),
    "stick-table type ipv6 size 100k expire 60s store conn_cur",
    // Who has one address of IPv6 has all that share its first 64 bits.
    "http-request track-sc0 src,ipmask(32,64)",
    `http-request return status 429 ${answerOf(REFUSALS.tooMany)} if { sc0_conn_cur gt ${router.requestsPerAddress} }`,
    `http-request return status 404 ${answerOf(REFUSALS.closed)} if { path -m reg ${quoted(CROOKED_PATH)} }`,
    ...CLOSED_PATHS.map(
      (path) => `http-request return status 404 ${answerOf(REFUSALS.closed)} if { path -i ${path} }`,
    ),
    "# Whose it is: the cell stands in the token, or in the id.",
    "http-request set-var(txn.token) req.hdr(authorization),word(2,' ')",
    ...TOKEN_PREFIXES.map(
      (prefix) =>
        `http-request set-var(txn.cell) var(txn.token),bytes(${prefix.length},2) if { path_beg ${API_PATH} } { var(txn.token) -m beg ${prefix} }`,
    ),
    ...ID_PATHS.map(
      ({ path, prefix }) =>
        `http-request set-var(txn.cell) path,bytes(${path.length + prefix.length + TIME_CHARS},2),upper if { path_beg ${path}${prefix} }`,
    ),
    ...inLines(
      "acl is_known var(txn.cell) -m str",
      cells.map(({ cell }) => cell),
    ),
    `http-request return status 401 ${answerOf(REFUSALS.unknownKey)} if { path_beg ${API_PATH} } !is_known`,
    `http-request return status 404 ${answerOf(REFUSALS.unknownId)} if { var(txn.cell) -m found } !is_known`,
    "use_backend cell_%[var(txn.cell)] if is_known",
    `use_backend any_file if { path_beg ${FILES_PATH} }`,
    "default_backend any_cell",
  ].join("\n  ");
}

/** Who asks, as the limit and the log have it, and the cells are told. */
function addresses({ trustedProxies, proxyProtocol }: Router): string[] {
  const told = ["http-request del-header x-forwarded-for", "option forwardfor"];
  if (trustedProxies.length === 0) return told;
  const named = inLines("acl is_named src", trustedProxies);
  if (proxyProtocol) return [...named, "tcp-request connection expect-proxy layer4 if is_named", ...told];
  // The last one is what the named proxy itself has added.
  const line =
    "http-request set-src req.hdr(x-forwarded-for,-1) if is_named { req.hdr(x-forwarded-for) -m found }";
  return [...named, line, ...told];
}

/** HAProxy takes 64 words a line. Lines of one `acl` are one condition, true where any of them is. */
const WORDS_A_LINE = 32;

function inLines(begin: string, words: readonly string[]): string[] {
  const lines: string[] = [];
  for (let at = 0; at < words.length; at += WORDS_A_LINE)
    lines.push([begin, ...words.slice(at, at + WORDS_A_LINE)].join(" "));
  return lines;
}

function cellBackend(cell: Cell): string {
  const servers = cell.machines.map(checked);
  const name = `cell_${cell.cell}`;
  return isPair(cell) ? backend(name, WAITED, [...servers, NOBODY]) : backend(name, RETRIED, servers);
}

function backend(name: string, retried: readonly string[], servers: readonly string[]): string {
  const { everySeconds, failures, path } = CHECK;
  return [
    `backend ${name}`,
    "option httpchk",
    `http-check send meth GET uri ${path} ver HTTP/1.1 hdr host sealpost hdr ${ROUTER_HEADER} haproxy`,
    "http-check expect status 200",
    ...retried,
    `default-server inter ${everySeconds}s fall ${failures} rise 1 pool-purge-delay ${WAITS.idleAtCell}s`,
    ...servers,
  ].join("\n  ");
}

function checked(machine: string): string {
  return `server ${nameOf(machine)} ${machine} check${isAddress(machine) ? "" : BY_NAME}`;
}

/** As ready as its own cell has found it. */
function tracked({ cell, machines }: Cell): string[] {
  return machines.map(
    (machine) =>
      `server ${nameOf(machine)} ${machine} track cell_${cell}/${nameOf(machine)}${isAddress(machine) ? "" : BY_NAME}`,
  );
}

/** HAProxy has no brackets in names. */
function nameOf(machine: string): string {
  return machine.replaceAll(/[[\]]/g, "");
}

/** A name may lead nowhere yet, and elsewhere later. */
const BY_NAME = " resolvers system resolve-prefer ipv4 init-addr last,libc,none";

function hasName({ machines }: Cell): boolean {
  return !machines.every(isAddress);
}

function isAddress(machine: string): boolean {
  return /^[0-9.]+$/.test(hostOf(machine)) || hostOf(machine).includes(":");
}

function answerOf(refusal: Refusal): string {
  const { body, headers } = refusal.write(REQUEST_ID);
  const { "content-type": contentType = "", ...others } = headers;
  const named = Object.entries(others).map(([name, value]) => ` hdr ${name} ${quoted(value)}`);
  return `content-type ${contentType} lf-string ${quoted(body)}${named.join("")}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
