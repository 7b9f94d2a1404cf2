// The letters that stand for what is said to scripts, or packed into a record's values: what
// StoreSchema.swift is for the names of keys and fields.

/// What commit.lua is told to do with an item; in capitals when ten more values follow.
enum VerdictLetter: String, CaseIterable {
    case next = "n"
    case close = "c"
    /// Closed, but not gone: it waits for a mark.
    case rest = "r"
}

/// What an attempt says about its lane (``LaneSignal``); in capitals of an endpoint.
enum SignalLetter: String, CaseIterable {
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
}

/// The outcome of a request that enqueue.lua answers (`EnqueueResult.Outcome`).
enum EnqueueWord: String, CaseIterable {
    case created
    case restarted
    case joined
    /// Refused: too many notify URLs.
    case tooManyURLs
    /// Refused: the open watch has another order.
    case otherOrder
    /// Nothing was written: another request of the call was refused for its order, or the call was a check.
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
    /// The client secret, sealed.
    case secret
    /// A JSON object.
    case metadata
    /// The order to charge, JSON.
    case charge
    /// The order that is paid.
    case order
    /// The entries in the index (`SearchEntries.stored`).
    case entries
}

/// What a hint is about (`HintNews`).
enum HintLetter: String, CaseIterable {
    case anything = "a"
    case outcome = "o"
    case money = "m"
}

/// The goal of a watch; a watch without a letter is followed until it is settled.
enum GoalLetter: String, CaseIterable {
    case leftPending = "l"
    case final = "f"
}

/// The first word of an error a script answers.
enum ScriptError: String, CaseIterable {
    /// An event does not follow the last one: ``StoreError/outOfOrder(_:)``.
    case outOfOrder = "BADSEQ"
    /// Another source has this id.
    case idClash = "IDCLASH"
    /// Who calls places lanes otherwise than the partition: among how many they are.
    case split = "SPLIT"
    /// The partition is being split; it is over in a moment.
    case splitting = "SPLITTING"
}

/// How a process left the list of live ones (`Departure`).
enum DepartureLetter: String, CaseIterable {
    /// It removed itself from the list.
    case clean = "c"
    /// Its beat expired.
    case lost = "l"
}

/// The consumer groups of the outbox.
enum OutboxGroup: String, CaseIterable {
    case notifier
}

/// Where scripts tell others of news; the namespace stands before it, the payload is the partition.
enum NewsChannel: String, CaseIterable {
    /// Something became due earlier than workers were told.
    case wake
    /// Something that a worker holds was marked.
    case marked
    /// Something was recorded.
    case recorded
}
