// The letters in script arguments and in packed values of records. They correspond to StoreSchema.swift, which has the
// names of keys and fields.

/// The verdict of a commit in commit.lua; uppercase if ten more values follow.
enum VerdictCode: String, CaseIterable {
    case next = "n"
    /// The next due time is rounded up (`Commit.isDueRounded`).
    case nextRounded = "g"
    case close = "c"
    /// The item is closed, but kept: it waits for a mark.
    case rest = "r"
}

/// The signal of an attempt for its lane (``LaneSignal``); uppercase for an endpoint.
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
    /// The order to charge, JSON.
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
