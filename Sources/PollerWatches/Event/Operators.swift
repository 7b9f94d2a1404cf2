package import PollerIdentity

// Events about the cluster, for operators.
//
// Problem: operators receive events through the same outbox, log and deliveries as customers. An existing recipient
// must not receive events it never subscribed to, and no caller that is bound to accounts may learn the state of the
// cluster.
//
// Approach: events for operators belong to a separate account whose name no other account can have. So no key can be
// bound to it, no watch, token or parameter can name it, and every existing check of accounts excludes callers without
// access to all accounts. Other callers receive these events only if they name `operator.…` among the types, not
// without types and not by a star.
//
// Rejected: a flag in each event, which every reader would have to check; a reserved account that could be named, which
// every entry point (keys, watches, the configuration file, tokens) would have to reject.

extension AccountID {
    /// The account of events about the cluster, and of the endpoints that receive them.
    ///
    /// No name from outside may contain an `@` (``init(_:)``).
    package static let operators = AccountID(unchecked: "@operator")
}

extension SourceKind {
    /// An incident as an item of the queue: like an order it has a log and is never due.
    package static let incident = SourceKind.other("incident")

    /// Whether its items are watches.
    ///
    /// Orders and incidents are only stored like watches.
    package var isOfWatches: Bool { self != .order && self != .incident }
}

extension Event {
    /// Whether it is about the cluster.
    package var isForOperators: Bool { key.account == .operators }

    /// Whether a subscription with these types may receive the event; `nil` for all types.
    ///
    /// Only events for operators must be named; the caller checks whether the types match otherwise.
    package func isIncluded(for types: [String]?) -> Bool {
        guard isForOperators else { return true }
        return (types ?? []).contains { pattern in
            EventSubject.isOfOperators(pattern)
                && (pattern.hasSuffix("*") ? type.hasPrefix(pattern.dropLast()) : type == pattern)
        }
    }
}

extension EventSubject {
    /// The prefix of the types of events about the cluster.
    package static let operatorFamily = "operator"

    /// Whether a type, or a pattern of types, selects events about the cluster.
    package static func isOfOperators(_ pattern: String) -> Bool {
        pattern.hasPrefix("\(operatorFamily).")
    }
}
