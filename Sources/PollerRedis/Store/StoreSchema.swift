// The schema of the bytes in Redis, shared by Swift and the scripts, each fact once.
//
// Problem: a record is written by Lua and read by Swift, or the other way round. Its fields are single letters, because
// a million watches have them: a field name of six letters would cost 5 MB more. Letters in two languages drift apart,
// and are unreadable.
//
// Approach: each letter is a case here, whose name describes it. Swift uses the cases. Scripts write `ITEM.deadline`,
// `key(KEY.closed)`, `lane.heldUntil`, and ``ScriptNames/render(_:)`` inserts the letters when the program starts. The
// text sent to Redis has no table and no local more than a script with literal letters, so names cost nothing at run
// time. A script is valid Lua before and after.
//
// Rejected: locals in the prelude (Lua 5.1 allows 200 per function and 60 upvalues, and each use costs); long names in
// the records (memory, and every store would have to be rewritten).
//
// A letter once stored never changes its meaning: other releases read it, too.

/// The kinds of keys, `<ns><kind>{p}<name>`; ``Keys`` explains the namespace and the partition.
enum KeyKind: String, CaseIterable {
    /// Hash: one item, its short fields (``ItemField``), a listpack. Name: the item's id.
    case item = "w"
    /// Hash: an item's long values (``LongField``), only if it has any. Name: the item's id.
    case long = "o"
    /// List: an item's own log, its last 100 events, each as ``PackedEvent``, or as JSON if it cannot be packed.
    ///
    /// Old events are compacted into its first entry, or into the item (``CompactedEvents``). Name: the item's id.
    case log = "l"
    /// List: the last 20 attempts of a delivery, for 30 days after the newest.
    ///
    /// After a delivery has ended well, they are kept as long as the bodies of events. Name: the item's id.
    case attempts = "y"
    /// List: the notes of an item, `<ms> <WatchNote>`, the newest 50, for 30 days after the newest.
    ///
    /// Name: the item's id.
    case notes = "N"
    /// String: the progress of the last replay to an endpoint, JSON, for a week. Name: the lane.
    case replay = "n"
    /// Zset: the lane's normal schedule, item → due ms, for items without a lease. Name: the lane.
    case normal = "z"
    /// Zset: the lane's urgent schedule, in the same form. Name: the lane.
    case urgent = "u"
    /// Zset: lane → ready time in µs; `+inf` while it is parked or all its items are in flight.
    case readyNormal = "a"
    /// Zset: lane → ready time of its urgent schedule, in the same form.
    case readyUrgent = "b"
    /// Zset, all score 0: the lanes with items, by name.
    case occupiedLanes = "s"
    /// Zset: leases, item → end ms.
    case leaseEnds = "r"
    /// Hash: leases, item → token, owner, marks (``LeaseMark``), schedule, due ms, lane, packed.
    case leases = "f"
    /// Hash: a lane (``LaneField``). Name: the lane.
    case lane = "c"
    /// Set: lanes with settings of their own.
    case lanesWithSettings = "k"
    /// Zset: closed items, item → closed ms.
    ///
    /// For an item whose money may go back, once its log is removed, the score is the time from which its age counts.
    case closed = "h"
    /// Zset: the quarantined of these items, item → closed ms.
    case quarantine = "x"
    /// Zset: orders, item → when it became known, ms.
    case orders = "d"
    /// Zset, all score 0: the names of the leaves of the index of open items by creation.
    ///
    /// A leaf is named by the lowest entry that it may hold. With the name of a leaf: zset, all score 0: its entries,
    /// at most 100, `<13 digits of ms><2 characters of a digest><item's id>` (lib_created_index.lua). Orders and
    /// incidents have no entry.
    case openCreated = "T"
    /// The same index of closed items.
    case closedCreated = "V"
    /// Stream: the outbox (``OutboxField``), read by the group `notifier`.
    case outbox = "e"
    /// Hash: the marking progress of outbox entries with many recipients, entry → `FanOutPosition`.
    ///
    /// A field is kept until its entry is acknowledged.
    case fanOuts = "F"
    /// Hash, in partition 0 only: live processes, owner → end ms and the process's description.
    case members = "p"
    /// Hash, in partition 0 of the watches only: processes that left, owner → `left ms, DepartureCode, its
    /// description`.
    ///
    /// The newest 100 are kept, for a day.
    case departures = "D"
    /// Hash: the state of the partition itself (``MetaField``).
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
    /// Hash, in partition 0 of the watches only: API keys, id → `created ms, JSON`.
    case accessKeys = "A"
    /// Hash: key → time of its last use, ms, to the minute.
    case accessKeysUsed = "B"
    /// Hash: a bucket of the search index of watches, the rest of an entry and an item's id → nothing.
    ///
    /// Name: the first characters of the entries in it (`SearchTerm`).
    case searchBucket = "S"
    /// Zset, all score 0: the leaves of the index of words, by the lowest entry each may hold.
    ///
    /// With the name of a leaf: zset, all score 0: its entries, at most 100, `<word> <item's id>` (`IndexedWord`).
    case words = "W"
    /// Zset, all score 0: the lanes in which watches were ever enqueued, by name; only for watches.
    ///
    /// A search for a source checks these lanes (`SearchedSource`). A lane takes about 80 bytes for each account and
    /// kind, permanently.
    case knownLanes = "L"
    /// Hash, in partition 0 of the deliveries only: account → number of its registered endpoints.
    case endpointCounts = "G"
    /// Hash, in partition 0 of the deliveries only: names of endpoints, `account name` → id.
    case endpointNames = "Y"
    /// Stream, in partition 0 of the watches only: the audit trail (``AuditField``).
    case auditTrail = "C"
    /// Hash, in the partition of incidents only: the open incidents, and the turn of checking (``IncidentField``).
    case incidents = "I"
    /// List: the last 100 incidents that have ended, JSON, the newest first.
    case incidentsPast = "J"
    /// Set, in the partition of incidents only: the incidents that are items, which do not count as closed watches.
    case incidentItems = "K"
    /// Hash, in partition 0 of the watches only: a ring of the activity history, a field for each time step.
    ///
    /// See ``RedisActivityStore``. Name: the step, s.
    case activity = "H"
    /// String: a request with an idempotency key, claimed or with its response (``RedisIdempotencyStore``), for a day.
    ///
    /// Name: a digest of its caller, its purpose, and its name.
    case idempotentRequest = "R"
    /// Hash: entries that readers are processing or died with, suspect → `deaths, first ms, last ms`; for a day.
    case suspects = "P"
    /// Hash: entries that are set aside, suspect → JSON; at most 1,000. The next kind has their outbox fields, packed.
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
    /// When it ends regardless of its result, ms.
    case deadline = "x"
    /// The number of its runs; 1 if the field is missing.
    case run = "n"
    /// The number of its last event.
    case seq = "q"
    /// The values that change with each turn, packed (``WatchRecord``, ``DeliveryRecord``).
    case state = "v"
    /// The token of the last lease that was committed or released, or has expired.
    case token = "g"
    /// Why it is closed; an open item has no such field.
    case closed = "c"
    /// The time of the last hint, ms.
    case hinted = "h"
    /// Whether it has long values that a lease includes: 1 a private one, 2 also a charge instruction.
    case hasLong = "e"
    /// Whether an error is stored among the long values.
    case hasError = "y"
    /// The number of expired leases in a row.
    case crashes = "j"
    /// The seq at which a hint reopened it.
    case reopenedSeq = "r"
    /// The close reason before a hint reopened it, if that was an answer.
    case endedAs = "k"
    /// The topic of the pending hint, and the token of the lease during which it arrived.
    ///
    /// The token is 0 if the item had no lease (lib_reopen.lua).
    case pendingHint = "f"
    /// The stored payment, packed (`PaymentMemory`).
    case payment = "m"
    /// The payment's own secret, packed (`PackedSecret`).
    ///
    /// A poll has read it, or the caller has given it and it is short.
    case secret = "p"
    /// Notify URLs, by newline, if they are short (``ShortText``).
    case notify = "N"
    /// Metadata as JSON, if it is short.
    case metadata = "M"
    /// The order that the watch pays.
    case order = "o"
    /// Its entries in the search index, joined (`SearchTerm`).
    case terms = "t"
    /// Its words in the index of words, separated by spaces (`IndexedWord`), at most 64 bytes.
    ///
    /// The next field has the words that do not fit, also at most 64 bytes. A word that fits in neither is not indexed.
    case words = "W"
    case moreWords = "X"
    /// The seq of the last event that was removed while the item was kept.
    case forgottenSeq = "u"
    /// For a delivery: the accepted events of removed attempts, with their times (``AcceptedLine``).
    case accepted = "a"
    /// Its reduced events, if they are short (lib_compacted_events.lua); the first 64 bytes.
    case compacted = "F"
    /// The rest of the reduced events.
    case compactedMore = "G"
    /// For a delivery: its inline URL, if it is short (``DeliveryRecord``).
    case url = "w"
}

/// The fields of an item's long values.
enum LongField: String, CaseIterable {
    /// Notify URLs, by newline; like the next two, if they are too long for the item (``ShortText``).
    case notify = "n"
    case metadata = "m"
    /// The client secret of a watch, or the inline URL of a delivery.
    case `private` = "p"
    /// The charge instruction.
    case charge = "k"
    /// The last error, for operators.
    case error = "y"
    /// For an order: its version and the order itself (`Order.stored`).
    case order = "o"
}

/// The fields of a lane, all numbers.
enum LaneField: String, CaseIterable {
    /// The number of leases of its items.
    case inFlight = "f"
    /// GCRA: the theoretical arrival time of the next start, ms.
    case arrival = "t"
    /// The time before which its limiter allows no start, ms.
    case notBefore = "n"
    /// The end of a hold by a signal or an open circuit, ms.
    case heldUntil = "u"
    /// The number of failures in a row; from ten on the circuit is open.
    case failures = "s"
    /// The kind of its last failure (`LaneFailure`); missing without failures.
    case lastFailure = "g"
    /// How many times the circuit opened without a response since it was last closed.
    case openings = "o"
    /// The number of denials that held it.
    case denials = "q"
    /// For an endpoint: failing since ms, by the wall clock.
    case failingSince = "w"
    /// The part of its limits that remains after a `slow`, at most 1.
    case factor = "r"
    /// When ``factor`` begins to recover, ms.
    case slowUntil = "v"
    /// Whether it is parked because its slots are taken.
    case parked = "p"
    /// Whether it is in ``KeyKind/occupiedLanes``.
    case listed = "l"
    /// Whether it is empty and expires by its TTL.
    case empty = "e"
    /// Its turn in the urgent list, thousandths of a ms.
    case urgentTurn = "du"
    /// Its turn in the normal list, thousandths of a ms.
    case normalTurn = "dz"
    /// Setting: paused by an operator.
    case paused = "x"
    /// Setting: the time between two starts, µs.
    case intervalUs = "i"
    /// Setting: the number of immediate starts after a pause.
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
    /// A count of claims; every fifth claim begins with normal items.
    case turn
    /// The queue's clock at a claim, at most two seconds old while there are claims, ms.
    case seen
    /// How far the queue's clock is ahead of the server's, ms.
    case back
    /// The last span without a claim, ms.
    case gap
    /// Its end by the server's clock, ms.
    case gapEnd = "gapend"
    /// The sum of all such spans, which fade in 90 days, ms.
    case gapsSum = "gaps"
    /// A value written only to wait for replicas.
    case joined
    /// Another such value; marks add their number to it.
    case confirmed
    /// Of deliveries: the server's history that ``markedBefore`` is about.
    case history
    /// The time in that history before which the marks of all events exist, ms.
    case markedBefore = "whole"
    /// For watches, in partition 0: the version of the last change of the API keys.
    case keysVersion = "keys"
    /// The closing time up to which items have been reduced, ms.
    ///
    /// Up to it watches have no bodies of events, and deliveries keep only skipped attempts and those of dead letters.
    case reduced = "faded"
    /// The closing time up to which the events of watches are packed together, ms.
    case compacted
    /// The number of partitions that its lanes are spread over; missing if it was never split.
    case split
    /// The stage of its split (``SplitStage``), while it is being split.
    case splitting
    /// The process that last began its split; calls of others are rejected.
    case splitter
}

/// The fields of an entry of the outbox.
enum OutboxField: String, CaseIterable {
    case item = "i"
    /// The event's number in its item's log.
    case seq = "q"
    /// The item's lane, if it has one.
    case lane = "l"
}

/// The fields of the registry of endpoints.
enum RegistryField: String, CaseIterable {
    /// The version of the last change.
    case version = "v"
    /// Readers that have an older version start over.
    case floor = "f"
}

/// The fields of the incident board.
enum IncidentField: String, CaseIterable {
    /// The open and the rising incidents, JSON (`IncidentBoard.stored`).
    case board = "b"
    /// A count of checks of the cluster.
    case turn = "t"
    /// The process that did the last check.
    case owner = "o"
    /// The time before which no process takes the next check, ms of the queue's clock.
    case due = "d"
}

/// The marks of a lease, a byte each: `hinted` or `outdated`, `hasError`, `crashed`; `-` for one that is not set.
enum LeaseMark: Unicode.Scalar, CaseIterable {
    /// Hinted during the lease: due right after it.
    case hinted = "k"
    /// The item has an error among its long values.
    case hasError = "y"
    /// An earlier lease of the item expired.
    case crashed = "z"
    /// Hinted, and with an order, a charge or an act that the poll of the lease does not know: its result is dropped.
    case outdated = "o"
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
    case cursorDigest
    case pendingFallback
}

/// The fields of an item that hold the options of a watch.
///
/// An option with its default value has no field. Scripts store options without reading them, except for the goal. The
/// letters differ from those of ``ItemField``.
enum WatchOption: String, CaseIterable {
    /// The policy's name.
    case policy = "P"
    /// A ``GoalCode``.
    case goal = "U"
    case authorisation = "A"
    case abandoned = "B"
    /// The trace, packed (`TraceContext`), 34 bytes.
    case trace = "T"

    /// Whether the first request that sets the option decides it while the watch is open.
    ///
    /// Of the others, the policy never changes while the watch is open, and the further of two goals is used.
    var isKeptFromFirst: Bool {
        switch self {
        case .authorisation, .abandoned, .trace: true
        case .policy, .goal: false
        }
    }
}

/// The fields of an entry of the audit trail.
enum AuditField: String, CaseIterable {
    /// The change as JSON.
    case change = "c"
}

/// The fields of an account's sweep.
enum SweepField: String, CaseIterable {
    case owner = "o"
    /// The end of the owner's hold, ms.
    case heldUntil = "u"
    /// When it is due, ms.
    case due = "d"
    /// The progress: `<ms` since, `=id` after.
    case cursor = "c"
    /// When it last caught up, ms.
    case caughtUp = "t"
    /// The pause before ``due``, ms.
    case pause = "p"
    /// When events that were listed before are to be read again, ms.
    case reread = "r"
}

/// The fields of an account's reads, each followed by a day (days since 1970).
enum UsageField: String, CaseIterable {
    case reads = "r"
    case transactions = "t"
}
