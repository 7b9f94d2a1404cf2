// What Swift and the scripts both know about the bytes in Redis, each fact once.
//
// Problem: a record is written by Lua and read by Swift, or the other way round, and its fields are single letters,
// because a million watches carry them: a field of six letters would cost 5 MB more. Letters in two languages drift
// apart, and nobody can read them.
//
// Approach: each letter is a case here, whose name says what it is. Swift uses the cases. Scripts write
// `ITEM.deadline`, `key(KEY.closed)`, `lane.heldUntil`, and ``ScriptNames/render(_:)`` puts the letters in their
// places when the program starts. What Redis is sent has no table and no local more than a script with the letters in
// it, so names cost nothing at run time. A script is valid Lua before and after.
//
// Rejected: locals in the prelude (Lua 5.1 takes 200 a function and 60 upvalues, and each use costs); long names in
// the records (memory, and every store would have to be rewritten).
//
// A letter once stored never changes its meaning: other releases read it, too.

/// The kinds of keys, `<ns><kind>{p}<name>`; ``Keys`` explains the namespace and the partition.
enum KeyKind: String, CaseIterable {
    /// Hash: one item, its short fields (``ItemField``), a listpack. Name: the item's id.
    case item = "w"
    /// Hash: an item's long values (``LongField``), only when it has some. Name: the item's id.
    case long = "o"
    /// List: an item's own log, its last 100 events, each as ``PackedEvent``, or as JSON where it cannot be packed; old ones
    /// are folded into its first entry, or into the item (``FoldedEvents``). Name: the item's id.
    case log = "l"
    /// List: the last 20 attempts of a delivery, for 30 days after the newest; of one that ended well as long as
    /// events keep their bodies. Name: the item's id.
    case attempts = "y"
    /// List: what came to an item from outside, `<ms> <WatchNote>`, the newest 50, for 30 days after the
    /// newest. Name: the item's id.
    case notes = "N"
    /// String: how the last replay to an endpoint stands, JSON, for a week. Name: the lane.
    case replay = "n"
    /// Zset: the lane's wheel, item → due ms, for those not leased. Name: the lane.
    case rest = "z"
    /// Zset: the lane's urgent wheel, likewise. Name: the lane.
    case urgent = "u"
    /// Zset: lane → ready time in µs; `+inf` while it is parked or only in flight.
    case readyRest = "a"
    /// Zset: lane → ready time of its urgent wheel, likewise.
    case readyUrgent = "b"
    /// Zset, all score 0: the lanes that hold something, by name.
    case occupiedLanes = "s"
    /// Zset: leases, item → end ms.
    case leaseEnds = "r"
    /// Hash: leases, item → token, owner, marks (``LeaseMark``), wheel, due ms, lane, packed.
    case leases = "f"
    /// Hash: a lane (``LaneField``). Name: the lane.
    case lane = "c"
    /// Set: lanes with settings of their own.
    case lanesWithSettings = "k"
    /// Zset: closed items, item → closed ms; of those whose money may come back, once their log is
    /// forgotten, the instant from which their age is counted.
    case closed = "h"
    /// Zset: of those, the quarantined, item → closed ms.
    case quarantine = "x"
    /// Zset: orders, item → when it became known, ms.
    case orders = "d"
    /// Zset, all score 0: the leaves of the index by creation of what is open, by the lowest entry each may hold; and
    /// with one of these as name, zset, all score 0: its entries, at most 100, `<13 digits of ms><2 characters of a
    /// digest><item's id>` (created.lua). Orders and incidents are in none.
    case openCreated = "T"
    /// The same of what is closed.
    case closedCreated = "V"
    /// Stream: the outbox (``OutboxField``), read by the group `notifier`.
    case outbox = "e"
    /// Hash: how far marking has come, for entries of the outbox that are told to many, entry →
    /// `FanOutPosition`; until they are acknowledged.
    case fanOuts = "F"
    /// Hash, in partition 0 only: live processes, owner → end ms and what it says of itself.
    case members = "p"
    /// Hash, in partition 0 of the watches only: processes that left, owner →
    /// `left ms, DepartureLetter, its description`; the newest 100, for a day.
    case departures = "D"
    /// Hash: what the partition knows of itself (``MetaField``).
    case meta = "m"
    /// Hash, in partition 0 of the deliveries only: registered endpoints, id → `created ms, updated ms, account, JSON`.
    case endpoints = "g"
    /// Zset, all score 0: `created ms, id`, the order of endpoints in lists.
    case endpointOrder = "j"
    /// Zset: endpoint → version of its last change.
    case endpointVersions = "v"
    /// Zset: removed endpoint → version, the newest 1,000.
    case endpointsRemoved = "t"
    /// Hash: the registry of endpoints itself (``RegistryField``).
    case registry = "q"
    /// String: a request to create an endpoint, `fingerprint, endpoint, version`, for a day. Name: the request's key.
    case endpointRequest = "i"
    /// Hash, in partition 0 of the watches only: keys of the API, id → `created ms, JSON`.
    case accessKeys = "A"
    /// Hash: key → when it was used last, ms, to the minute.
    case accessKeysUsed = "B"
    /// Hash: a bucket of the index by which watches are found, the rest of an entry and an item's id →
    /// nothing. Name: the first characters of the entries in it (`SearchTerm`).
    case searchBucket = "S"
    /// Zset, all score 0: the leaves of the index of words, by the lowest entry each may hold; and with one of these as
    /// name, zset, all score 0: its entries, at most 100, `<word> <item's id>` (`IndexedWord`).
    case words = "W"
    /// Zset, all score 0: the lanes in which watches were ever enqueued, by name. They are what a source is
    /// looked for in (`SearchedSource`); some 80 bytes for each account and kind, for ever. Of watches alone.
    case knownLanes = "L"
    /// Hash, in partition 0 of the deliveries only: account → how many endpoints it has registered.
    case endpointCounts = "G"
    /// Hash, in partition 0 of the deliveries only: names of endpoints, `account name` → id.
    case endpointNames = "Y"
    /// Stream, in partition 0 of the watches only: what was changed by whom (``AuditField``).
    case auditTrail = "C"
    /// Hash, in the partition of incidents only: what operators are told of, and whose turn it is to look
    /// (``IncidentField``).
    case incidents = "I"
    /// List: the last 100 incidents that are over, JSON, the newest first.
    case incidentsPast = "J"
    /// Set, in the partition of incidents only: those that are items; they are no closed watches.
    case incidentItems = "K"
    /// Hash, in partition 0 of the watches only: a ring of the history, a field for each step of time
    /// (``RedisActivityStore``). Name: the step, s.
    case activity = "H"
    /// String: a request that its client has named, claimed or answered (``RedisNamedRequests``), for a day.
    /// Name: a digest of whose it is, what for, and its name.
    case namedRequest = "R"
    /// Hash: entries that readers are handling or died with, suspect → `deaths, first ms, last ms`; for a day.
    case suspects = "P"
    /// Hash: entries that are set aside, suspect → JSON; at most 1,000. In the next one their outbox fields, packed.
    case setAside = "Q"
    case setAsideFields = "U"
}

/// The fields of an item: one byte each.
///
/// ``WatchOption`` has those of a watch's options.
enum ItemField: Unicode.Scalar, CaseIterable {
    /// The upstream's id of the source.
    case source = "s"
    /// The kind and account of a delivery, packed (``DeliveryRecord``).
    case facts = "i"
    case lane = "l"
    /// When this run began, ms.
    case began = "b"
    /// When it ends whatever has come of it, ms.
    case deadline = "x"
    /// How many times it was begun; once where it does not say.
    case run = "n"
    /// The number of its last event.
    case seq = "q"
    /// What changes with each turn, packed (``WatchRecord``, ``DeliveryRecord``).
    case state = "v"
    /// The token of the last lease that was committed, given back or has ended.
    case token = "g"
    /// Why it is closed; an open item has no such field.
    case closed = "c"
    /// When it was hinted last, ms.
    case hinted = "h"
    /// It has long values a lease must bring along: 1 a private one, 2 and an order to charge.
    case hasLong = "e"
    /// An error is kept among the long values.
    case hasError = "y"
    /// Leases in a row that ended by themselves.
    case crashes = "j"
    /// The seq at which a hint opened it again.
    case reopenedSeq = "r"
    /// How it had ended when a hint opened it again, where that was with an answer.
    case endedAs = "k"
    /// What a hint has told of it since it was opened, and the token of the lease during which it came or
    /// 0 (opening.lua).
    case news = "f"
    /// What is remembered of its payment, packed (`PaymentMemory`).
    case payment = "m"
    /// The payment's own secret as a poll has seen it or, where that is short, as it was handed in, packed
    /// (`PackedSecret`).
    case secret = "p"
    /// Notify URLs, by newline, where they are short (``ShortText``).
    case notify = "N"
    /// Metadata as JSON, likewise.
    case metadata = "M"
    /// The order that is paid by it.
    case order = "o"
    /// Its entries in the index of searches, side by side (`SearchTerm`).
    case terms = "t"
    /// Its words in the index of words, with spaces between (`IndexedWord`), and those for which the first field had
    /// no room: each has 64 bytes at most.
    case words = "W"
    case moreWords = "X"
    /// The seq of the last event that was forgotten while the item was kept.
    case forgottenSeq = "u"
    /// Of a delivery: when which event was accepted, of attempts that are forgotten (``AcceptedLine``).
    case accepted = "a"
    /// What is left of its old events, where that is short (folding.lua); its first 64 bytes.
    case folded = "F"
    /// The rest of it.
    case foldedMore = "G"
    /// Of a delivery: its inline URL, where that is short (``DeliveryRecord``).
    case url = "w"
}

/// The fields of an item's long values.
enum LongField: String, CaseIterable {
    /// Notify URLs, by newline; as the next two where they are too long for the item (``ShortText``).
    case notify = "n"
    case metadata = "m"
    /// Client secret of a watch, inline URL of a delivery.
    case `private` = "p"
    /// The order to charge.
    case charge = "k"
    /// The last error, for operators.
    case error = "y"
    /// Of an order: its version and the order itself (`Order.stored`).
    case order = "o"
}

/// The fields of a lane, numbers all.
enum LaneField: String, CaseIterable {
    /// Leases of its items.
    case inFlight = "f"
    /// GCRA: the theoretical arrival time of the next start, ms.
    case arrival = "t"
    /// Its limiter allows no start before, ms.
    case notBefore = "n"
    /// Held by a signal or an open circuit until then, ms.
    case heldUntil = "u"
    /// Failures in a row; from ten on the circuit is open.
    case failures = "s"
    /// What sort of trouble the last of them met (`LaneFailure`); there only while there is any.
    case lastFailure = "g"
    /// How many times the circuit opened without an answer since it was closed.
    case openings = "o"
    /// Denials that held it.
    case denials = "q"
    /// Of an endpoint: failing since ms, by the wall clock.
    case failingSince = "w"
    /// What is left of its limits after a `slow`, at most 1.
    case factor = "r"
    /// When ``factor`` begins to grow back, ms.
    case slowUntil = "v"
    /// Parked for want of a slot.
    case parked = "p"
    /// It is in ``KeyKind/occupiedLanes``.
    case listed = "l"
    /// It holds nothing and is forgotten by its TTL.
    case empty = "e"
    /// Its turn in the list of the urgent, thousandths of a ms.
    case urgentTurn = "du"
    /// Its turn in the list of the rest, likewise.
    case restTurn = "dz"
    /// Setting: paused by an operator.
    case paused = "x"
    /// Setting: the time between two starts, µs.
    case intervalUs = "i"
    /// Setting: starts at once after a pause.
    case burst = "b"
    /// Setting: the most leases at a time.
    case inFlightMax = "m"
}

/// The fields of a partition's meta hash.
enum MetaField: String, CaseIterable {
    /// The newest outbox id ever dropped.
    case trimmed
    /// The newest outbox id that was set aside.
    case newestSetAside = "setaside"
    /// Counts claims, so that every fifth begins with the rest.
    case turn
    /// The queue's clock at a claim, at most two seconds ago while there are claims, ms.
    case seen
    /// What the queue's clock is ahead of the server's, ms.
    case back
    /// The last span without a claim, ms.
    case gap
    /// Its end by the server's clock, ms.
    case gapEnd = "gapend"
    /// The sum of all such spans, which fade in 90 days, ms.
    case gapsSum = "gaps"
    /// Written only so that replicas can be waited for.
    case joined
    /// Likewise; by marks their number is added.
    case confirmed
    /// Of deliveries: the server's history that ``whole`` is about.
    case history
    /// In that history all marks of events before this instant are there, ms.
    case whole
    /// Of watches, in partition 0: the version of the last change of the API's keys.
    case keysVersion = "keys"
    /// Of watches the bodies of events, of deliveries the attempts, of items that were closed up to then are
    /// forgotten, ms.
    case faded
    /// Among how many partitions its lanes are, once it was split; a store that was never split has none.
    case split
    /// How far its split is (``SplitStage``), while it is being split.
    case splitting
    /// Who splits it, the last one who began to: what another one sends late is refused.
    case splitter
}

/// The fields of an entry of the outbox.
enum OutboxField: String, CaseIterable {
    case item = "i"
    /// The event's number in its item's log.
    case seq = "q"
    /// The item's lane, where it has one.
    case lane = "l"
}

/// The fields of the registry of endpoints.
enum RegistryField: String, CaseIterable {
    /// The version of the last change.
    case version = "v"
    /// Readers that have seen an older version begin again.
    case floor = "f"
}

/// The fields of what operators are told of.
enum IncidentField: String, CaseIterable {
    /// What is open and what rises, JSON (`IncidentBoard.stored`).
    case board = "b"
    /// Counts looks at the cluster.
    case turn = "t"
    /// Who took the last one.
    case owner = "o"
    /// The next one is nobody's before, ms of the queue's clock.
    case due = "d"
}

/// The marks of a lease, a byte each in this order; `-` where one is not set.
enum LeaseMark: Unicode.Scalar, CaseIterable {
    /// Hinted during the lease: due right after it.
    case hinted = "k"
    /// The item has an error among its long values.
    case hasError = "y"
    /// An earlier lease of the item ended by itself.
    case crashed = "z"
}

/// The parts of a delivery's state, in their order.
enum DeliveryPart: Int, CaseIterable {
    case cursor
    case failures
    case attempts
    case retryAt
    case failedSince
    case escalated
    case dead
    case again
    case told
    case owed
}
