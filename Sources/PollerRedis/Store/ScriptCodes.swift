// The letters in script arguments and in packed values of records. They correspond to StoreSchema.swift, which has the
// names of keys and fields.

/// The request of a claim, or of commits without one, which state the owner only.
enum ClaimField: String, CaseIterable {
    case owner
    /// The maximum number of items.
    case limit
    case leaseMs
    /// The limit of lanes without their own: µs between two starts, or 0 for no rate.
    case intervalUs
    case burst
    case inFlightMax
    /// Items that are due within this span are claimed, too.
    case aheadMs
}

/// A result in commit.lua; a value that is empty, false, or has its default is not sent.
enum CommitField: String, CaseIterable {
    case id
    /// The token of the lease, as text.
    case token
    /// The state after the result, packed (``ItemRecord/state(after:)``).
    case state
    /// A ``VerdictCode``; `next` by default.
    case verdict
    /// The close reason; `settled` by default.
    case reason
    /// From now to the next due time; 0 by default.
    case waitMs
    /// Whether the next due time is rounded up (`Commit.isDueRounded`).
    case isDueRounded
    /// Whether the item enters the urgent schedule.
    case isUrgent
    /// The last error; missing to clear it, ``ItemError/kept`` to keep it.
    case error
    /// A ``SignalCode`` and its span; missing for `LaneSignal.fine`.
    case signal
    case signalMs
    /// Whether the lane of the signal is an endpoint.
    case isEndpoint
    /// The number of its events, each with two values among the arguments: the JSON, and the same packed or an empty
    /// text.
    case events
    /// The number of the first event.
    case seq
    /// The channel to publish the events on.
    case channel
    /// A line for the item's log of attempts, and the span for which the log is kept.
    case attempt
    case attemptMs
    /// The payment to store; missing to keep it.
    case payment
    /// A secret that the poll has learned, encrypted.
    case secret
    /// New entries in the index (`SearchEntries.stored`).
    case entries
    /// Whether the poll has read the state of the money, and so covers the change that a hint announced.
    case seesMoney
    /// Whether the poll has charged the source, so that its result must be recorded.
    case hasCharged
}

/// The reply of claim.lua and commit.lua.
enum ReplyField: String, CaseIterable {
    /// For each commit 1 if it is recorded, or 0 if its lease was lost.
    case results
    /// The items whose result could not be written, each with the error; missing if there is none.
    case errors
    /// The time of the claim; this and the following are missing without a claim.
    case now
    /// The time of the next claim with a result; missing if there is none.
    case nextReady
    /// The number of expired leases that were recovered.
    case recovered
    /// The lanes without a free slot.
    case fullLanes
}

/// The values of a lease in the reply of a claim, in their order.
enum LeaseValue: Int, CaseIterable {
    case id, token, due, start, lane
    /// The long client secret or URL, and after a newline the charge instruction.
    case `private`
    /// The fields of the item: a list of names (``ItemField``, ``WatchOption``) and values.
    case fields
    /// Since when an endpoint fails, by the wall clock; 0 if that is unknown, missing without failures.
    case failingSince
    /// The number of failures in a row.
    case failures
}

/// The verdict of a commit in commit.lua.
enum VerdictCode: String, CaseIterable {
    case next = "n"
    case close = "c"
    /// The item is closed, but kept: it waits for a mark.
    case rest = "r"
}

/// The signal of an attempt for its lane (``LaneSignal``).
enum SignalCode: String, CaseIterable {
    case hold = "h"
    case slow = "s"
    case failing = "f"
    case erring = "e"
    case denied = "d"
    case stillFailing = "k"
    case revoked = "v"
    case garbled = "g"
    case stillGarbled = "i"
    case refused = "r"
}

/// The operation of a call of enqueue.lua.
enum EnqueueStep: String, CaseIterable {
    /// Compares orders and writes nothing.
    case check
    case write
    /// Writes, and reads each watch.
    case read
    /// The same for requests of several callers: none of them depends on another.
    case separate
}

/// The outcome of a request in the reply of enqueue.lua (`EnqueueResult.Outcome`).
enum EnqueueOutcomeCode: String, CaseIterable {
    case created
    case restarted
    case joined
    /// Rejected: too many notify URLs.
    case tooManyURLs
    /// Rejected: the open watch has another order.
    case otherOrder
    /// Nothing was written: another request of the call was rejected for its order, or the call was a check.
    case notTried
}

/// The values of a request to enqueue.lua, each sent after its name.
///
/// The options follow under their letters (``WatchOption``).
///
/// An empty value is not sent.
enum EnqueueField: String, CaseIterable {
    case id
    case source
    case lane
    /// From now to the deadline, ms.
    case timeout
    /// URLs separated by newlines; this and the next two may be short (``ShortText``).
    case notify
    /// The client secret, encrypted.
    case secret
    /// A JSON object.
    case metadata
    /// The charge instruction, JSON.
    case charge
    /// The order that the watch pays.
    case order
    /// The entries in the index (`SearchEntries.stored`).
    case entries
}

/// The topic of a hint (`HintTopic`).
enum HintCode: String, CaseIterable {
    case anything = "a"
    case outcome = "o"
    case money = "m"
}

/// The goal of a watch; a watch without a letter is followed until it is settled.
enum GoalCode: String, CaseIterable {
    case leftPending = "l"
    case final = "f"
}

/// The first word of a script's error.
enum ScriptError: String, CaseIterable {
    /// An event does not follow the last one: ``StoreError/outOfOrder(_:)``.
    case outOfOrder = "BADSEQ"
    /// Another source has this id.
    case idClash = "IDCLASH"
    /// The caller's lane layout differs from the partition's; the error has the right number of partitions.
    case split = "SPLIT"
    /// The partition is being split; this takes a moment.
    case splitting = "SPLITTING"
}

/// How a process left the list of live ones (`Departure`).
enum DepartureCode: String, CaseIterable {
    /// It removed itself from the list.
    case clean = "c"
    /// Its beat expired.
    case lost = "l"
}

/// The change of a delivery's schedule in revise.lua.
enum RevisionCode: String, CaseIterable {
    /// The delivery becomes due now.
    case retry = "0"
    /// The delivery becomes due now, and the hold of its lane ends.
    case retryEndingHold = "1"
    /// The due time stays, and the quarantine of the delivery ends.
    case dismiss = "-"
}

/// The consumer groups of the outbox.
enum OutboxGroup: String, CaseIterable {
    case notifier
}

/// The channels of scripts; the namespace precedes the name, and the payload is the partition.
enum NotificationChannel: String, CaseIterable {
    /// An item became due earlier than workers know.
    case wake
    /// A leased item was marked.
    case marked
    /// An event was recorded.
    case recorded
}

/// A special value of a commit in place of an item's last error.
enum ItemError {
    /// Keeps the stored error.
    static let kept = "="
}
