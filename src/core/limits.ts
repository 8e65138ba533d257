const KIB = 1024;
const MIB = 1024 * KIB;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Limit {
  value: number;
  unit: "bytes" | "count" | "ms" | "seconds" | "hours" | "levels" | "characters" | "bits";
  why: string;
}

/** Every bound of the service, each with its unit and reason; printed in the docs. */
export const LIMITS = {
  eventBodyBytesMax: {
    value: MIB,
    unit: "bytes",
    why: "One event fits into memory many times over; larger data belongs behind a link.",
  },
  ingestBodyBytesMax: { value: MIB, unit: "bytes", why: "No provider of the table sends more." },
  rewrittenBodyBytesMax: {
    value: 2 * MIB,
    unit: "bytes",
    why: "`data` that a source makes of a body that is no JSON, twice `ingestBodyBytesMax`: files of a form, in base64, become a third longer, but control characters six times. Above it a request is refused as `too_large` (413).",
  },
  unpackedTimesMax: {
    value: 50,
    unit: "count",
    why: "How often its own size a compressed body may unpack to, above `lightBodyBytesMax`: JSON has 3 to 20 times, a forged body could have 1,000, and is unpacked before it is verified.",
  },
  sampleHeadBytesMax: {
    value: 16 * KIB,
    unit: "bytes",
    why: "Address and headers of a sample that is checked against a source, together: its door takes no longer request head.",
  },
  givenCredentialsMax: {
    value: 20,
    unit: "count",
    why: "Names in `credentials` of one body about a source: no provider has more than a few.",
  },
  signedBytesMax: {
    value: 2 * MIB,
    unit: "bytes",
    why: "What one signature covers: a body, with headers and an address beside it. A source of `hmac` whose `signed_content` makes more of a request refuses it as `too_large`.",
  },
  signedHeadBytesMax: {
    value: 32 * KIB,
    unit: "bytes",
    why: "What one signature covers above twice the body: a request head has 16 KiB, which an older `signed_content` of `hmac` that repeats an id or a time made 2 MiB of. Above it a request is refused as `too_large`.",
  },
  formFieldsMax: {
    value: 400,
    unit: "count",
    why: "A form that comes in has some dozens; with 80 fields of an audience and 60 groups (Mailchimp), or every header of a mail and its attachments (Mailgun), 200 to 340; each is work before anything is known to be genuine. One that has more is kept as text, or refused as `malformed` where its fields are signed.",
  },
  pathValuesMax: {
    value: 10_000,
    unit: "count",
    why: "What a path with `*` names in a body that comes in, which has some hundred in one delivery. Where there are more, it names nothing.",
  },
  refusalMs: {
    value: 5,
    unit: "ms",
    why: "A refused request is answered after this time, so that the time tells nothing of what was verified.",
  },
  refusalMsPerMib: {
    value: 40,
    unit: "ms",
    why: "And so much later for each MiB of its body, which is several times what the slowest verification takes.",
  },
  batchBodyBytesMax: {
    value: 8 * MIB,
    unit: "bytes",
    why: "500 events of the usual size, in one transaction.",
  },
  managementBodyBytesMax: {
    value: MIB,
    unit: "bytes",
    why: "An endpoint with filter, transformations and headers stays far below.",
  },
  requestsPerTurnMax: {
    value: 200,
    unit: "count",
    why: "Requests that begin in one turn of the loop, some ten milliseconds of work at most, where a long address counts once more for each KiB; the others begin in later turns, and a connection that has more of them in a pipeline is closed.",
  },
  queryLengthMax: {
    value: 8 * KIB,
    unit: "characters",
    why: "A query that comes in, as it is encoded: 100 ids with a search beside them have some 6,400, and the queries of providers some hundred. A longer one is refused before it is read.",
  },
  queryPartsMax: {
    value: 100,
    unit: "count",
    why: "Parameters of a query that comes in: no route and no provider has more than some twenty, and each is work before anybody is known.",
  },
  bodiesInFlightBytesMax: {
    value: 128 * MIB,
    unit: "bytes",
    why: "Bodies that come in or are worked on, over all requests, counted as they come; above it a body that nothing is done with yet, of whoever has the most, is refused with 503. What is worked on, or waits for its commit, stays: an account has no more of that than all of it leaves free, so room is left for another.",
  },
  smallBodyBytesMax: {
    value: 8 * KIB,
    unit: "bytes",
    why: "A body that says it is no larger is read in one piece and counted once it is here: while it comes it is no more than what its connection costs.",
  },
  accountBodiesBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "The same of one account, with its portal links and what is verified at its sources, and of all that is not verified yet together (above it one of those that still come in, by chance, is answered 503): nobody takes all of it, and 64 events of the largest size fit.",
  },
  guestBodiesBytesMax: {
    value: 48 * MIB,
    unit: "bytes",
    why: "Of that, what is worked on for portal links and sources of the account; one consumer, or one source, has no more than they leave free, alone half of it. The rest is for the account's own keys, whatever the others do.",
  },
  smallAnswerBytesMax: {
    value: 32 * KIB,
    unit: "bytes",
    why: "An answer that is no larger goes out in one piece: the kernel takes so much for a connection at once, whether it is read or not.",
  },
  answersInFlightBytesMax: {
    value: 128 * MIB,
    unit: "bytes",
    why: "Larger answers, over all requests, from their text to their end, and the pages that exports hold for their readers; above it one of whoever has the most is refused with 503, or cut.",
  },
  accountAnswersBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "The same of one account, its portal links and its pollers included: nobody takes all of it, and 16 pages of pollers of the largest size fit.",
  },
  answerSendMs: {
    value: 60_000,
    unit: "ms",
    why: "A larger answer is sent within that, or cut: a reader of a page of 4 MiB takes 70 KB a second, and one that takes a byte now and then gains nothing.",
  },
  exportsAtOnceMax: {
    value: 10,
    unit: "count",
    why: "Exports that one caller may have under way: each holds a connection and a page for as long as its reader takes.",
  },
  exportStallMs: {
    value: 60_000,
    unit: "ms",
    why: "A reader of an export that takes nothing for so long is cut off: it holds a connection and a page.",
  },
  pageBytesMax: {
    value: MIB,
    unit: "bytes",
    why: "A page of a list ends once it is that large: an attempt of a large event has a megabyte, and of an account that waits for turns one page is written at a time.",
  },
  batchEventsMax: {
    value: 500,
    unit: "count",
    why: "A batch is one transaction, which must not stall the others.",
  },
  jsonDepthMax: {
    value: 64,
    unit: "levels",
    why: "Deeper documents are attacks on the parser; the root is level 1.",
  },
  eventTypeLengthMax: { value: 128, unit: "characters", why: "A name, not a text." },
  eventTypesPerEndpointMax: { value: 100, unit: "count", why: "More is better said with a wildcard." },
  endpointsPerConsumerMax: { value: 1000, unit: "count", why: "Bounds what a consumer's event fans out to." },
  endpointsPerProjectMax: {
    value: 100_000,
    unit: "count",
    why: "All of them stand in memory, as every event and every attempt needs them; some 3 KB each.",
  },
  endpointsOfProjectBytesMax: {
    value: 256 * MIB,
    unit: "bytes",
    why: "Settings of all endpoints of a project, as they weigh in memory: each part of a filter or of a list some 100 bytes beside its text, each of its event types some 500, credentials four times their text. An ordinary endpoint weighs 1 KB.",
  },
  endpointsOfConsumerBytesMax: {
    value: 32 * MIB,
    unit: "bytes",
    why: "The same of one consumer, so that none takes the project's: 1,000 endpoints of 32 KB.",
  },
  endpointsSeenMax: {
    value: 1000,
    unit: "count",
    why: "Endpoints whose deliveries a portal token sees: all that the consumer has, then the newest deleted ones.",
  },
  sourcesPerProjectMax: {
    value: 1000,
    unit: "count",
    why: "All of them stand in memory, as every request that comes in needs them; most customers have a handful.",
  },
  sourcesOfProjectBytesMax: {
    value: 16 * MIB,
    unit: "bytes",
    why: "Secrets, credentials and settings of all sources of a project, weighed as those of endpoints: 1,000 of 16 KB. An ordinary source weighs 200 bytes.",
  },
  portalLinkSecondsDefault: { value: DAY_MS / 1000, unit: "seconds", why: "A day's work on one page." },
  portalLinkSecondsMin: { value: 60, unit: "seconds", why: "A shorter one would expire on its way." },
  portalLinkSecondsMax: {
    value: (7 * DAY_MS) / 1000,
    unit: "seconds",
    why: "Whoever holds a link has its grants: it should not lie about for longer.",
  },
  portalOriginLengthMax: {
    value: 300,
    unit: "characters",
    why: "Scheme, name and port of an origin; all of a project stand in a header of each page of its portal.",
  },
  portalOriginsMax: { value: 20, unit: "count", why: "Pages of one customer that embed the portal." },
  logoBytesMax: { value: 256 * KIB, unit: "bytes", why: "A small picture, loaded with each visit." },
  logoCacheBytesMax: {
    value: 16 * MIB,
    unit: "bytes",
    why: "Logos that all their answers share: a reader that takes nothing holds no copy of its own.",
  },
  eventTypesPerProjectMax: {
    value: 1000,
    unit: "count",
    why: "Described types stand in memory; large catalogues have some hundred.",
  },
  eventTypesOfProjectBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "Schemas and examples of all types of a project, weighed as settings of endpoints: 1,000 of 64 KB. An ordinary type weighs 5 to 20 KB.",
  },
  exampleBytesMax: { value: 64 * KIB, unit: "bytes", why: "An example for people and for test events." },
  externalIdLengthMax: { value: 256, unit: "characters", why: "Fits every id scheme in use." },
  consumerIdLengthMax: { value: 256, unit: "characters", why: "Fits every id scheme in use." },
  keptAnswerBytes: {
    value: 300,
    unit: "bytes",
    why: "What each kept answer weighs beside its body, its key and its consumer: the fingerprint of the request, and its place in a table.",
  },
  keptChangedBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "Answers a day of changes by management calls, kept for the Idempotency-Keys of one account, and as many for all its portal links; above it such a change is refused with 429, as it would happen twice. Publishing is bounded by its events.",
  },
  keptChangedOfConsumerBytesMax: {
    value: 4 * MIB,
    unit: "bytes",
    why: "The same of the portal links of one consumer, so that none takes it from the others: some 2,000 changes.",
  },
  keptUnseenBytes: {
    value: KIB,
    unit: "bytes",
    why: "Room that a change takes for its answer before it is done, where one transaction cannot hold both: a delivery is shown in some 400.",
  },
  keptUnchangedBytesMax: {
    value: MIB,
    unit: "bytes",
    why: "Answers a day of calls that change nothing, kept for the Idempotency-Keys of one account, and as many for all its portal links.",
  },
  keptUnchangedTotalBytesMax: {
    value: 16 * MIB,
    unit: "bytes",
    why: "The same of all accounts together: they are kept in memory alone, so that a link that only reads leaves nothing on the disk.",
  },
  idempotencyKeyLengthMax: {
    value: 255,
    unit: "characters",
    why: "As the IETF draft's examples and its users have it.",
  },
  idempotencyKeptMs: { value: DAY_MS, unit: "ms", why: "A client that tries again does so within a day." },
  descriptionLengthMax: { value: 1000, unit: "characters", why: "A note for people." },
  nameLengthMax: { value: 200, unit: "characters", why: "A name for people." },
  urlLengthMax: { value: 2048, unit: "characters", why: "What servers and proxies commonly take." },
  configValueLengthMax: {
    value: 16 * KIB,
    unit: "characters",
    why: "One field of a destination; the key file of a service account has some 2,400.",
  },
  serviceAccountKeyBitsMax: {
    value: 4096,
    unit: "bits",
    why: "The RSA key in a service account's key file, of which Google's have 2,048: a signature by one of 8,192 takes 50 ms of the thread pool, where a commit's fsync waits.",
  },
  serviceAccountTextLengthMax: {
    value: 320,
    unit: "characters",
    why: "The address, the key's id and the token server in a service account's key file, each: Google's have at most 100. An e-mail address has at most 320.",
  },
  grantedLengthMax: {
    value: 4096,
    unit: "characters",
    why: "A token, or a part of the credentials, that a token server grants to an endpoint: those of AWS and Google are shorter. A longer one is none.",
  },
  grantsKeptBytesMax: {
    value: 16 * MIB,
    unit: "bytes",
    why: "Tokens that Google grants, as much of what is signed to get them, and of what STS grants: those of some 10,000 endpoints each. An endpoint whose own was not used for longest asks again.",
  },
  metadataBytesMax: { value: 16 * KIB, unit: "bytes", why: "Labels, not documents." },
  filterBytesMax: {
    value: 16 * KIB,
    unit: "bytes",
    why: "A filter is evaluated for every event of its project, so it stays small.",
  },
  filterDepthMax: { value: 16, unit: "levels", why: "What a person still reads." },
  filterNodesMax: {
    value: 256,
    unit: "count",
    why: "Keys and list elements of a filter: the work that an event costs.",
  },
  filterStepsMax: {
    value: 600_000,
    unit: "count",
    why: "Comparisons, about, that one evaluation may take, some 10 ms: more than an event has list elements.",
  },
  eventFilterStepsMax: {
    value: 6_000_000,
    unit: "count",
    why: "What all filters may take over one event before each further one has `lateFilterStepsMax`: some 100 ms.",
  },
  lateFilterStepsMax: {
    value: 10_000,
    unit: "count",
    why: "Far more than a filter takes over most events, and a sixtieth of what one may take: a thousand filters hold up no event for long.",
  },
  filteredNamedMax: {
    value: 1000,
    unit: "count",
    why: "Endpoints that an event's timeline names as `filtered`, 17 KB of its row: all that its consumer can have, then the project's. Of others it says how many.",
  },
  lightBodyBytesMax: {
    value: 64 * KIB,
    unit: "bytes",
    why:
      "A larger event is parsed, validated, filtered and transformed in turns of the event loop of their own: no turn takes longer " +
      "than JSON.parse of a body of 1 MiB and 20 ms, whatever it holds.",
  },
  transformationsMax: {
    value: 32,
    unit: "count",
    why: "Operations of an endpoint: a longer list is a program.",
  },
  transformationsBytesMax: {
    value: 64 * KIB,
    unit: "bytes",
    why: "The list of an endpoint, with the values that it sets: it stands in memory for as long as the endpoint does.",
  },
  pathNamesMax: { value: 32, unit: "count", why: "Names in a path; real ones have a handful." },
  pathsMax: {
    value: 256,
    unit: "count",
    why: "Paths of one operation: as many as the widest document needs that a person still reads.",
  },
  transformedBytesMax: {
    value: MIB,
    unit: "bytes",
    why: "What transformations may make of an event: as much as an event may have.",
  },
  transformationStepsMax: {
    value: 2_000_000,
    unit: "count",
    why: "What all operations on one delivery may copy, some 30 ms: about 250,000 fields, lists or objects, or 500,000 elements.",
  },
  schemaBytesMax: {
    value: 32 * KIB,
    unit: "bytes",
    why: "A schema is evaluated for every event of its type, so it stays a page or two.",
  },
  schemaDepthMax: { value: 32, unit: "levels", why: "What a person still reads." },
  schemaNodesMax: {
    value: 16 * KIB,
    unit: "count",
    why: "Keys and list elements: no more fit into its bytes.",
  },
  schemaStepsMax: {
    value: 1_000_000,
    unit: "count",
    why: "Comparisons, about, that one validation may take; it ends within 50 ms, whatever schema and data are.",
  },
  compiledSchemasBytesMax: {
    value: 128 * MIB,
    unit: "bytes",
    why: "Compiled schemas, over all projects, of the types that were used last; the others are compiled again when an event of theirs comes. The heaviest takes some 20 MB, most some 50 KB.",
  },
  compiledTransformationsBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "The same of compiled transformations: the heaviest take some 8 MB, most some 2 KB.",
  },
  patternStatesMax: {
    value: 20_000,
    unit: "count",
    why: "More patterns in a schema, or larger counts in them, would make it weigh megabytes.",
  },
  customHeadersMax: { value: 20, unit: "count", why: "Keeps the request head far below what servers take." },
  customHeaderNameMax: { value: 128, unit: "characters", why: "Keeps a request head readable." },
  customHeaderValueMax: {
    value: 4096,
    unit: "characters",
    why: "Keeps the request head far below what servers take.",
  },
  headerPartsMax: {
    value: 64,
    unit: "count",
    why: "Parts of all credential headers of an endpoint, such as cookies, each of which attempts hide where a receiver repeats it alone; whole values are hidden however many parts they have. That takes up to 80 KB of memory for an endpoint whose headers have 80 KB.",
  },
  secretRepeatsMax: {
    value: 2000,
    unit: "count",
    why: "Credentials, in whatever form, that a text of a receiver repeats and that are hidden one by one: a millisecond at most. From the next one on all of the text is hidden.",
  },
  listLimitMax: { value: 250, unit: "count", why: "A page of a list is answered in a few milliseconds." },
  listLimitDefault: { value: 50, unit: "count", why: "A screenful." },
  listScanMax: {
    value: 5000,
    unit: "count",
    why: "What one page of a filtered list, or one answer with counts, may look at before it is shorter and has a cursor: some 10 ms; eight endpoints at which a portal link's page looks for an event count as one.",
  },
  searchScanBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "Bodies that one page of a text search may read before it answers a shorter page with a cursor: some seconds beside other work.",
  },
  searchScanMax: {
    value: 20_000,
    unit: "count",
    why: "What one page of a text search may look at, in place of `listScanMax`, so that an old text takes fewer pages; and how many events a preview passes by to find some that it may look at.",
  },
  historyMax: {
    value: 1000,
    unit: "count",
    why: "Stored events that one preview or proposal of a schema looks at.",
  },
  inferredBytesMax: {
    value: 256 * KIB,
    unit: "bytes",
    why: "Larger events are left out of a proposal of a schema: each would hold up the others.",
  },
  longWorksAtOnceMax: {
    value: 4,
    unit: "count",
    why: "Previews, text searches, lists that look at more than 250 entries, proposals of a schema, lists of attempts, numbers of endpoints and counts for a bulk replay that one caller, or all links of a consumer, has under way at once: each holds events in memory, some ten times the size of one, or very many keys.",
  },
  longWorksOfAccountMax: {
    value: 16,
    unit: "count",
    why: "The same of all callers of an account, who take turns at them.",
  },
  longWorksWaitingMax: {
    value: 64,
    unit: "count",
    why: "Those of one caller that wait for their place, with nothing read but their body. Above it: 429.",
  },
  replayIdsMax: {
    value: 500,
    unit: "count",
    why: "What a person picks out of a list; a filter takes any number.",
  },
  replaysRunningMax: {
    value: 100,
    unit: "count",
    why: "Bulk replays of a project that run at once, those of one event to very many endpoints among them: each is a job that reads and writes. Above it: 429.",
  },
  replaysOfConsumerMax: {
    value: 50,
    unit: "count",
    why: "The same of those that one consumer's portal links asked for, so that none takes the project's.",
  },
  replayNamedMax: {
    value: 10_000,
    unit: "count",
    why: "Deliveries that the answer to the replay of one event names: 3 MB, which its key keeps too.",
  },
  searchTextMax: { value: 256, unit: "characters", why: "A search, not a document." },
  attemptTimeoutSecondsDefault: { value: 15, unit: "seconds", why: "Standard Webhooks asks for 15 to 30 s." },
  attemptTimeoutSecondsMax: { value: 30, unit: "seconds", why: "Standard Webhooks asks for 15 to 30 s." },
  responseReadBytesMax: {
    value: 64 * KIB,
    unit: "bytes",
    why: "Enough to reuse the connection after a chatty answer. What chunks its body, sizes, extensions and trailers, may take 4 KiB and a sixteenth of the body besides: each chunk costs time.",
  },
  responseKeptBytesMax: {
    value: 16 * KIB,
    unit: "bytes",
    why: "Enough to see the error page that explains a failure.",
  },
  errorDetailLengthMax: {
    value: 1000,
    unit: "characters",
    why: "What a destination itself calls its error: a code or a name. What it says at length stands in the answer.",
  },
  retryEntriesMax: { value: 20, unit: "count", why: "More tries than any sender makes." },
  retryWaitSecondsMax: {
    value: 72 * 3600,
    unit: "seconds",
    why: "Longer waits outlive the retention of bodies.",
  },
  retryAfterSecondsMax: {
    value: 24 * 3600,
    unit: "seconds",
    why: "A receiver may ask for a day, not for ever.",
  },
  attemptsByHandMax: {
    value: 1000,
    unit: "count",
    why: "Attempts of one delivery, above which none is made by hand any more: each keeps up to `responseKeptBytesMax` of an answer.",
  },
  byHandOfConsumerMax: {
    value: 2000,
    unit: "count",
    why: "Test events, replays of them, retries by hand, and in a test project all replays, that the links of one consumer ask for at once. Then one is refused with 429: no plan counts them, and each keeps up to `responseKeptBytesMax` of an answer as long as its event is kept.",
  },
  byHandOfConsumerPerHour: {
    value: 500,
    unit: "count",
    why: "What comes back of that, steadily: far more than people ask for.",
  },
  byHandOfAccountMax: {
    value: 20_000,
    unit: "count",
    why: "The same of all portal links of an account together, and once more of its keys, to whose replays in a test project there is no bound, as they may publish there.",
  },
  byHandOfAccountPerHour: {
    value: 5000,
    unit: "count",
    why: "What comes back of that, steadily. Many deliveries at once are replayed in bulk, which leaves out test events.",
  },
  replayedOfEventMax: {
    value: 1000,
    unit: "count",
    why: "Deliveries that replays have added to an event, above which they add no more: all that an endpoint has of an event are looked through for the newest.",
  },
  trialsAtOnceMax: { value: 10, unit: "count", why: "Tries of new destinations by one caller. Above: 429." },
  logosAtOnceMax: {
    value: 2,
    unit: "count",
    why: "Logos that a project fetches at once. Each takes up to `logoBytesMax` for as long as its server takes. Above: 429.",
  },
  addressesOfNameMax: {
    value: 64,
    unit: "count",
    why: "Addresses of a name that are looked at; whose name it is decides how many there are, and an answer of DNS has room for 4,000.",
  },
  addressesDialledMax: {
    value: 6,
    unit: "count",
    why: "Of those, how many one attempt connects to, each after one that refuses, as many as curl tries at once. Where a name has more, each attempt draws its own, of IPv4 and IPv6 by turns: so the next one reaches what is up.",
  },
  nameServersReadEveryMs: {
    value: 5_000,
    unit: "ms",
    why: "How often `/etc/resolv.conf` is read while names are asked. No sooner are kept answers dropped, all at once, because a name had none: more often, one such name would have every other asked anew.",
  },
  nameOfSavedMs: {
    value: 5_000,
    unit: "ms",
    why: "How long a request that saves an address waits for its name, which is then accepted like one that does not resolve: every attempt asks again. A server that is silent takes 25 s, and the question holds a slot of the account so long (`attemptsInFlightMax`); without a slot the name is accepted unasked.",
  },
  concurrencyDefault: { value: 10, unit: "count", why: "Enough for a fast receiver, gentle to a small one." },
  concurrencyMax: {
    value: 100,
    unit: "count",
    why: "No endpoint takes more than a fraction of the sockets.",
  },
  attemptsInFlightMax: {
    value: 20_000,
    unit: "count",
    why: "Over all endpoints, a fifth as many over TLS (`tlsAttemptBytes`), each until its outcome is on disk, with those that were given up while they connected: the kernel holds their sockets for two minutes, a resolver the question for a name, also of an address that is saved, for 25 s for each name server. The less is free, the less an account may have; the last 32nd is for accounts with nothing in flight: so the slow leave room.",
  },
  handshakeBytesMax: {
    value: 16 * KIB,
    unit: "bytes",
    why: "What a server may send until a TLS handshake is done: certificates with their chain take 2 to 6 KB, and TLS holds up to ten times their size in memory. More ends the attempt as `tls_failed`. A connection with more than half of it serves one request.",
  },
  tlsSessionsMax: {
    value: 1000,
    unit: "count",
    why: "One for each host, port and account whose server offers it; the one offered last stays longest. A new connection that resumes it takes two fifths less of the processor. The name is checked each time; ten minutes after the certificate was shown, as with a connection that is kept, it is asked for again.",
  },
  tlsSessionBytesMax: {
    value: 8 * KIB,
    unit: "bytes",
    why: "A ticket, usually of 200 bytes, and the certificates with their chain. A larger one is not resumed.",
  },
  tlsAttemptBytes: {
    value: 16 * KIB,
    unit: "bytes",
    why: "What TLS takes of `attemptsInFlightBytesMax` for an attempt: its buffers and the usual certificates. All accounts together have 4,096 such attempts in flight, one alone half, or three quarters where each is to another endpoint: 1,024 a second to receivers that take 2 s.",
  },
  attemptsInFlightBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "The same of the bodies and custom headers in them, each of which is in memory several times while it is reshaped and sent: 64 events of the largest size. Of the answer, each attempt holds up to `responseKeptBytesMax` and a head besides.",
  },
  shortageRestMs: {
    value: 1000,
    unit: "ms",
    why: "An endpoint to which no socket could be made, as the process has no file left, is tried again after that; no attempt is used up.",
  },
  failuresBeforeBackoff: { value: 5, unit: "count", why: "Fewer are noise, more hammer a dead receiver." },
  backoffSecondsMax: {
    value: 300,
    unit: "seconds",
    why: "A receiver that came back is noticed within five minutes: so long its endpoint is left alone at most, by failures in a row or by 429, 502, 503 and 504.",
  },
  disableAfterMs: {
    value: 5 * DAY_MS,
    unit: "ms",
    why: "Five days without one success: nobody is listening.",
  },
  rotationOverlapHoursMax: { value: 168, unit: "hours", why: "A week is enough to deploy a new secret." },
  actorQueueMax: {
    value: 1000,
    unit: "count",
    why: "What an actor holds in memory; the rest waits in the database.",
  },
  queuedTotalMax: {
    value: 200_000,
    unit: "count",
    why: "What all actors hold together before each keeps only a head. They come to twice that at most, and one for each endpoint.",
  },
  actorQueueHead: {
    value: 64,
    unit: "count",
    why: "What an actor holds when all together hold `queuedTotalMax`; fewer the more they hold, and one at twice that.",
  },
  dispatchWaitingMax: {
    value: 5000,
    unit: "count",
    why: "Deliveries on disk, on their way to their actors; beyond that new ones are parked in the database.",
  },
  dispatchBytesMax: {
    value: 16 * MIB,
    unit: "bytes",
    why: "Bodies at hand for those; beyond that they are read again.",
  },
  dispatchAtOnceMax: {
    value: 10,
    unit: "count",
    why: "Deliveries of one publish, slice or replay that go to their actors at once, whatever waits; more go in shares of turns.",
  },
  dispatchSliceMax: {
    value: 32,
    unit: "count",
    why: "Attempts that one share of a turn starts: each is rendered, signed and sent, some 40 µs, and several times that at first.",
  },
  dispatchSliceBytesMax: {
    value: 128 * KIB,
    unit: "bytes",
    why: "Bodies of those attempts, as each may have to be read and written anew.",
  },
  touchedMax: {
    value: 10_000,
    unit: "count",
    why: "Deliveries that were replayed, cancelled or tried by hand a moment ago: what is still on its way to their actors is out of date.",
  },
  actorRefillMax: {
    value: 256,
    unit: "count",
    why: "Parked deliveries that an actor fetches at once, beside what it holds already.",
  },
  hopsMax: {
    value: 8,
    unit: "count",
    why: "Deliveries that may have led to an event: a chain of services that feed each other has two or three, a loop has no end.",
  },
  spansWaitingMax: {
    value: 2048,
    unit: "count",
    why: "Spans that wait for the collector or are on their way to it, some 3 MiB; where there are as many, further ones are dropped, and counted.",
  },
  bodyCacheBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "Bodies of just accepted events, kept for their first attempt.",
  },
  fanoutAtOnceMax: {
    value: 1000,
    unit: "count",
    why: "A publish is answered once its deliveries are written, unless there are more than this: then all of them may follow.",
  },
  eventRowsMax: {
    value: 100,
    unit: "count",
    why: "Deliveries written in the transaction of their event; more follow in slices, so that no turn of the loop is long.",
  },
  fanoutWaitingMax: {
    value: 100_000,
    unit: "count",
    why: "Deliveries of one project that follow their events and are still to be written; a publish with such that would exceed it waits for them, and one that exceeds it by itself for all.",
  },
  fanoutWaitMs: {
    value: 5000,
    unit: "ms",
    why: "How long a publish waits for that; then it is refused with 429, before its connection counts as idle.",
  },
  fanoutDoorMax: {
    value: 500_000,
    unit: "count",
    why: "Deliveries of one project's publishes that wait for that: more than are written while they wait, and 12 MB of lists at most. One that would exceed it is refused with 429 at once.",
  },
  batchListRowsMax: {
    value: 500_000,
    unit: "count",
    why: "Endpoints in all different lists of a batch's wide events: 9 MB in its one transaction, which they make 135 ms long. Events with the same list share it.",
  },
  batchDeliveriesMax: {
    value: 1_000_000,
    unit: "count",
    why: "Deliveries of all wide events of a batch, twice what 500 events for one consumer have: minutes of writing, after it. Their keys are set aside at once and are times, so that all else is dated a quarter of a second ahead.",
  },
  fanoutSliceRows: {
    value: 50,
    unit: "count",
    why: "Deliveries of a wide event that one transaction writes: a millisecond or two, beside all else that a turn of the loop does.",
  },
  fanoutSliceBytes: {
    value: 2 * MIB,
    unit: "bytes",
    why: "Events that such a transaction reads and encodes, together: a millisecond a MiB.",
  },
  sliceRows: {
    value: 100,
    unit: "count",
    why: "What one turn of the loop writes in a long job: a few milliseconds, on a busy machine too.",
  },
  deliveriesLookedAtMax: {
    value: 5000,
    unit: "count",
    why: "Deliveries that one turn of a cleanup reads, or those of one event: about a millisecond a thousand.",
  },
  indexGatheredMax: {
    value: 20_000,
    unit: "count",
    why: "Entries of lists that wait in memory for up to a second, so that more of them share a row; with more they are written within 200 ms.",
  },
  indexSliceRows: {
    value: 500,
    unit: "count",
    why: "Rows of lists that one transaction inserts: they are sorted, and cost a few milliseconds.",
  },
  hourSliceRows: {
    value: 64,
    unit: "count",
    why: "Hourly numbers that one transaction adds: 7 µs each, and 40 where memory is slow, of as many endpoints as many pages.",
  },
  labelsCachedMax: {
    value: 50_000,
    unit: "count",
    why: "Names of lists whose keys are in memory, some 100 bytes each: asked twice for each event.",
  },
  headsCachedMax: {
    value: 10_000,
    unit: "count",
    why: "Heads of requests and responses whose keys are in memory, at most 1 KiB each.",
  },
  erasedAtOnce: {
    value: 50,
    unit: "count",
    why: "Endpoints or sources of an erased consumer that one transaction closes: each costs some 10 µs.",
  },
  sliceRestMsMin: {
    value: 4,
    unit: "ms",
    why: "At least between two slices of retention, an erasure or a disposal, and twice as long as a slice took: the others go first.",
  },
  sliceRestMsMax: {
    value: 1000,
    unit: "ms",
    why: "At most: a disk that stood still for long is no reason to.",
  },
  pollLimitMax: { value: 100, unit: "count", why: "A page that a poller works off before it asks again." },
  pollLimitDefault: { value: 50, unit: "count", why: "As in lists." },
  pollWaitSecondsMax: { value: 30, unit: "seconds", why: "Proxies cut what is silent for a minute." },
  pollAnswerBytesMax: {
    value: 4 * MIB,
    unit: "bytes",
    why: "Messages in one page of a poller, as the page writes them; one that is larger comes alone.",
  },
  pollersMax: { value: 100, unit: "count", why: "Held polls of one endpoint: each holds a connection." },
  planWaitingEventsMax: {
    value: 10_000,
    unit: "count",
    why: "Inbound events of an account that wait for its plan: their providers would not send them again next month.",
  },
  pollersTotalMax: {
    value: 10_000,
    unit: "count",
    why: "Held polls of all endpoints, and at most a fifth of the files that the process may open. Where all are taken, the account with the most gives one up for one with fewer.",
  },
  apiKeysPerProjectMax: {
    value: 1000,
    unit: "count",
    why: "All of them stand in memory; a key for each program and each person, with the expired ones. The operator's way to a new key is open above it.",
  },
  apiKeyNameMax: { value: 200, unit: "characters", why: "A name for people." },
  drainMs: {
    value: 10_000,
    unit: "ms",
    why: "What an orchestrator grants between SIGTERM and SIGKILL, with reserve.",
  },
  replicaWaitMs: {
    value: 5000,
    unit: "ms",
    why: "How long an answer waits for the replica, where that was asked for; then it is 503. Where room for very many deliveries was waited for before (`fanoutWaitMs`), its connection may count as idle first. An upload that takes longer closes the door: whoever asks for the replica is refused before anything is stored.",
  },
  diskSilenceMs: {
    value: 5000,
    unit: "ms",
    why: "A disk that answers nothing for so long hangs: the service says that it is not ready.",
  },
  retentionGraceMs: {
    value: DAY_MS,
    unit: "ms",
    why: "An old event whose last delivery has just ended: whoever waited for that can read how.",
  },
  auditEntryBytesMax: {
    value: 4 * KIB,
    unit: "bytes",
    why: "Values of one entry of the audit log together, the smallest first. Of those that do not fit it keeps that they changed, and not how: a year of them is read in pages.",
  },
  auditEntryBytes: {
    value: 300,
    unit: "bytes",
    why: "What each entry weighs beside its values and names: its places in a table and two indexes.",
  },
  auditOfConsumerBytesMax: {
    value: 4 * MIB,
    unit: "bytes",
    why: "Entries of the audit log that the links of one consumer make at once, some 1,000 of the largest. Then a change is refused with 429, before it is made: each is kept for `auditKeptMs`.",
  },
  auditOfConsumerBytesPerHour: {
    value: MIB,
    unit: "bytes",
    why: "What comes back of that, steadily: some 3,000 ordinary changes an hour, far more than people make.",
  },
  auditOfAccountBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "The same of all keys of an account, and once more of all its portal links together: some 110,000 to 200,000 ordinary changes. Revoking a key or a link is never refused; operator calls are not counted.",
  },
  auditOfAccountBytesPerHour: {
    value: 16 * MIB,
    unit: "bytes",
    why: "What comes back of that, steadily: some 50,000 ordinary changes an hour.",
  },
  auditKeptMs: { value: 365 * DAY_MS, unit: "ms", why: "Auditors ask about the last year." },
  accountsMovedMax: {
    value: 100,
    unit: "count",
    why: "Accounts that move to another cell by one call, and so together.",
  },
  passedOnMax: {
    value: 128,
    unit: "count",
    why: "Requests of accounts that have moved, passed on to their cells at once. Bun has 256 for all that the process asks of others, and the replica has to be reached among them.",
  },
  passedOnOfCellMax: {
    value: 96,
    unit: "count",
    why: "Those to one cell, so that one that hangs leaves room for the others.",
  },
  moveWaitMs: {
    value: 70_000,
    unit: "ms",
    why: "How long a move waits for the end of attempts. For half of it callers are not refused. Each half is longer than any attempt has (`timeout_seconds`), and tests by hand begin in the first one alone.",
  },
  bodyHashKeptSeconds: {
    value: 600,
    unit: "seconds",
    why: "What is known by a hash of its body alone is taken for a retry no longer than that.",
  },
  dedupKeptSeconds: {
    value: (30 * DAY_MS) / 1000,
    unit: "seconds",
    why: "Providers retry for days; dead letters are replayed for weeks.",
  },
} as const satisfies Record<string, Limit>;

/** The value of a limit by its name. */
export function limit(name: keyof typeof LIMITS): number {
  return LIMITS[name].value;
}
