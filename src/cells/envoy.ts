import { limit } from "../core/limits.ts";
import { CHECK, ROUTER_HEADER } from "../core/router.ts";
import { SettingsError } from "../platform/start-error.ts";
import { type Cell, type CellList, hostOf, isPair, portOf, type Router } from "./list.ts";
import {
  API_PATH,
  CLOSED_PATHS,
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
 * The bootstrap of Envoy, as JSON, for a list of cells: the same ways as HAProxy's (haproxy.ts), without a
 * limit for each address, which Envoy does not have. Throws SettingsError where the list asks for the PROXY
 * protocol, which Envoy takes from everybody. Source: Envoy's API v3, "Bootstrap", "HTTP route components",
 * "Health checking".
 */
export function envoyConfig({ cells, router }: CellList): string {
  if (router.proxyProtocol)
    throw new SettingsError(["proxy_protocol: Envoy takes it from everybody; HAProxy asks who sends it"]);
  const any = cells.flatMap(({ machines }) => machines);
  const own = cells.map((cell) => cluster(clusterOf(cell), cell.machines, isPair(cell) ? [NOBODY] : []));
  const clusters = [...own, cluster(ANY, any)];
  const bootstrap = { static_resources: { listeners: [listener(cells, router)], clusters } };
  return JSON.stringify(bootstrap, null, 2);
}

const ANY = "any_cell";
const EXTENSIONS = "type.googleapis.com/envoy.extensions";

function clusterOf({ cell }: Cell): string {
  return `cell_${cell}`;
}

/** A part that is chosen by name, with its settings. `type`: below `envoy.extensions`. */
function extension(name: string, type: string, settings: object = {}): object {
  return { name, typed_config: { "@type": `${EXTENSIONS}.${type}`, ...settings } };
}

function address(place: string): object {
  return { socket_address: { address: hostOf(place), port_value: portOf(place) } };
}

function listener(cells: readonly Cell[], router: Router): object {
  return {
    name: "sealpost",
    address: address(router.listen),
    filter_chains: [
      {
        filters: [connectionManager(cells, router)],
        ...(router.certificate !== null && { transport_socket: tls(router.certificate) }),
      },
    ],
  };
}

function tls(certificate: string): object {
  const file = { filename: certificate };
  const certificates = [{ certificate_chain: file, private_key: file }];
  return extension("envoy.transport_sockets.tls", "transport_sockets.tls.v3.DownstreamTlsContext", {
    common_tls_context: { tls_certificates: certificates, alpn_protocols: ["h2", "http/1.1"] },
  });
}

function connectionManager(cells: readonly Cell[], router: Router): object {
  const type = "filters.network.http_connection_manager.v3.HttpConnectionManager";
  return extension("envoy.filters.network.http_connection_manager", type, {
    stat_prefix: "sealpost",
    request_headers_timeout: `${WAITS.head}s`,
    common_http_protocol_options: { idle_timeout: `${WAITS.idle}s` },
    stream_idle_timeout: `${WAITS.answer}s`,
    // A path goes by what a cell makes of it.
    normalize_path: true,
    ...addresses(router),
    access_log: [accessLog()],
    local_reply_config: { mappers: [noMachine()] },
    http_filters: [extension("envoy.filters.http.router", "filters.http.router.v3.Router")],
    route_config: {
      virtual_hosts: [
        {
          name: "sealpost",
          domains: ["*"],
          routes: routes(cells),
          // What is larger is not asked again.
          request_body_buffer_limit: limit("batchBodyBytesMax"),
        },
      ],
      // What a stranger says of the address does not reach a cell.
      request_headers_to_add: [
        overwritten("x-forwarded-for", "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
        MARK,
      ],
    },
  });
}

/** Who asks: the connection, or what a named proxy says. */
function addresses({ trustedProxies }: Router): object {
  if (trustedProxies.length === 0) return { use_remote_address: true };
  const cidrs = trustedProxies.map((range) => {
    const [prefix = "", length = ""] = range.split("/");
    return { address_prefix: prefix, prefix_len: Number(length) };
  });
  const settings = { xff_trusted_cidrs: { cidrs }, skip_xff_append: false };
  const type = "http.original_ip_detection.xff.v3.XffConfig";
  const xff = extension("envoy.http.original_ip_detection.xff", type, settings);
  return { use_remote_address: false, original_ip_detection_extensions: [xff] };
}

/** The path without its query, in which some providers send a secret. */
const LOG_LINE =
  "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% %RESPONSE_CODE% %REQ(:METHOD)% %PATH(NQ)% %UPSTREAM_CLUSTER%/%UPSTREAM_HOST% %DURATION% ms %BYTES_SENT% bytes\n";

function accessLog(): object {
  const log_format = { text_format_source: { inline_string: LOG_LINE } };
  return extension("envoy.access_loggers.stdout", "access_loggers.stream.v3.StdoutAccessLog", { log_format });
}

/** The id of a request, as Envoy writes it. */
const REQUEST_ID = "%STREAM_ID%";

/** The body of an answer of Envoy's own, and its headers. */
function answerOf(refusal: Refusal) {
  const { body, headers } = refusal.write(REQUEST_ID);
  const { "content-type": content_type = "", ...others } = headers;
  const named = Object.entries(others).map(([key, value]) => overwritten(key, value));
  return { format: { text_format_source: { inline_string: body }, content_type }, headers: named };
}

function overwritten(key: string, value: string): object {
  return { header: { key, value }, append_action: "OVERWRITE_IF_EXISTS_OR_ADD" };
}

const MARK = overwritten(ROUTER_HEADER, "envoy");

/** Where no machine of the cell is ready, none can be connected to, or too many are asked already. */
function noMachine(): object {
  const { format, headers } = answerOf(REFUSALS.noMachine);
  const filter = { response_flag_filter: { flags: ["UH", "UF", "UO"] } };
  return { filter, body_format_override: format, headers_to_add: headers };
}

function routes(cells: readonly Cell[]): object[] {
  const refuse = (match: object, refusal: Refusal) => {
    const { format, headers } = answerOf(refusal);
    const direct_response = { status: refusal.status, body_format: format };
    return { match, direct_response, response_headers_to_add: headers };
  };
  return [
    ...CLOSED_PATHS.map((path) => refuse({ path, case_sensitive: false }, REFUSALS.closed)),
    ...cells.map((cell) => ({ match: byToken(cell), route: toCell(cell) })),
    refuse({ prefix: API_PATH }, REFUSALS.unknownKey),
    ...cells.map((cell) => ({ match: byId(cell), route: toCell(cell) })),
    ...ID_PATHS.map(({ path, prefix }) => refuse({ prefix: `${path}${prefix}` }, REFUSALS.unknownId)),
    { match: { prefix: FILES_PATH }, route: to(ANY, FILES_RETRY) },
    { match: { prefix: "/" }, route: to(ANY) },
  ];
}

function byToken({ cell }: Cell): object {
  const regex = `(?i:bearer) +(?:${TOKEN_PREFIXES.join("|")})${cell}.*`;
  const string_match = { safe_regex: { regex } };
  return { prefix: API_PATH, headers: [{ name: "authorization", string_match }] };
}

function byId({ cell }: Cell): object {
  const ways = ID_PATHS.map(({ path, prefix }) => `${path}${prefix}`).join("|");
  return { safe_regex: { regex: `(?:${ways})[0-9A-Za-z]{${TIME_CHARS}}(?i:${cell}).*` } };
}

/**
 * Once more, at another machine where one is ready, if the first has read nothing. A machine that answers 503
 * may have taken the event.
 */
const RETRY = {
  retry_on: "connect-failure,refused-stream",
  num_retries: 1,
  retry_host_predicate: [
    extension(
      "envoy.retry_host_predicates.previous_hosts",
      "retry.host.previous_hosts.v3.PreviousHostsPredicate",
    ),
  ],
  host_selection_retry_max_attempts: 3,
};

/**
 * While no machine of a pair is ready, which one hands over or is lost, a request waits: what is chosen then
 * refuses the connection, and so has read nothing. Envoy waits half a second on average before it asks again.
 */
const WAIT = {
  ...RETRY,
  num_retries: 2 * WAITS.machine,
  retry_back_off: { base_interval: "1s", max_interval: "1s" },
};
const NOBODY = {
  priority: 1,
  lb_endpoints: [
    {
      endpoint: {
        address: address("127.0.0.1:1"),
        health_check_config: { disable_active_health_check: true },
      },
    },
  ],
};

/** Files are the same at every cell, except while some of them are being upgraded. */
const FILES_RETRY = {
  ...RETRY,
  retry_on: `${RETRY.retry_on},retriable-status-codes`,
  retriable_status_codes: [404],
  num_retries: FILE_RETRIES,
};

function to(name: string, retry_policy: object = RETRY): object {
  // A large body may take its time, as long as something comes.
  return { cluster: name, timeout: "0s", idle_timeout: `${WAITS.answer}s`, retry_policy };
}

function toCell(cell: Cell): object {
  return to(clusterOf(cell), isPair(cell) ? WAIT : RETRY);
}

/** What is under way at a time. Envoy's own bounds, 1,024 requests and 3 retries, are too few for a cell. */
const BOUNDS = {
  max_connections: 20_000,
  max_pending_requests: 20_000,
  max_requests: 20_000,
  max_retries: 1000,
};

function cluster(name: string, machines: readonly string[], others: readonly object[] = []): object {
  const { path, everySeconds, timeoutSeconds, failures } = CHECK;
  return {
    name,
    type: "STRICT_DNS",
    dns_lookup_family: "V4_PREFERRED",
    connect_timeout: `${WAITS.connect}s`,
    circuit_breakers: { thresholds: [BOUNDS] },
    load_assignment: {
      cluster_name: name,
      endpoints: [
        { lb_endpoints: machines.map((machine) => ({ endpoint: { address: address(machine) } })) },
        ...others,
      ],
      // One machine of a pair takes all.
      policy: { overprovisioning_factor: 1000 },
    },
    // Nobody who is not ready is asked, not even where nobody is.
    common_lb_config: { healthy_panic_threshold: { value: 0 } },
    health_checks: [
      {
        timeout: `${timeoutSeconds}s`,
        interval: `${everySeconds}s`,
        no_traffic_interval: `${everySeconds}s`,
        unhealthy_threshold: failures,
        healthy_threshold: 1,
        http_health_check: { path, request_headers_to_add: [MARK] },
      },
    ],
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": `${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`,
        common_http_protocol_options: { idle_timeout: `${WAITS.idleAtCell}s` },
        explicit_http_config: { http_protocol_options: {} },
      },
    },
  };
}
