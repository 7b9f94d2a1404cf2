package import PollerIdentity

// Who hears of the cluster itself.
//
// Problem: operators are told over the same outbox, log and deliveries as customers; yet no receiver of
// today may be surprised by what it never asked for, and nobody who is bound to accounts may learn how
// the cluster stands.
//
// Approach: what tells operators belongs to an account of its own, whose name no account can have. So no
// key can be bound to it, no watch, token or parameter can name it, and every check of accounts that there
// is keeps it from those who do not see all accounts. Those who do hear it only when they name
// `operator.…` among the types: neither without types, nor by a star.
//
// Rejected: a flag in each event, which every reader would have to look at; a reserved account that could be named, which each of
// the doors (keys, watches, the configuration file, tokens) would have to refuse.

extension AccountID {
    /// Whose the events about the cluster itself are, and the endpoints that are told of them.
    ///
    /// No name from outside may have an `@` (``init(_:)``).
    package static let operators = AccountID(unchecked: "@operator")
}

extension SourceKind {
    /// An incident, as an item of the queue: like an order it has a log and is never due.
    package static let incident = SourceKind.other("incident")

    /// Whether its items are watches; orders and incidents only stand beside them.
    package var isOfWatches: Bool { self != .order && self != .incident }
}

extension Event {
    /// Whether it tells of the cluster itself.
    package var isForOperators: Bool { key.account == .operators }

    /// Whether somebody who has asked for these types may be told it; nil for all types.
    ///
    /// Only what tells operators has to be asked for by name; that the types match besides is the
    /// caller's to check.
    package func isAsked(for types: [String]?) -> Bool {
        guard isForOperators else { return true }
        return (types ?? []).contains { pattern in
            EventSubject.isOfOperators(pattern)
                && (pattern.hasSuffix("*") ? type.hasPrefix(pattern.dropLast()) : type == pattern)
        }
    }
}

extension EventSubject {
    /// What the types of events about the cluster begin with.
    package static let operatorFamily = "operator"

    /// Whether a type, or a pattern of types, means events about the cluster.
    package static func isOfOperators(_ pattern: String) -> Bool {
        pattern.hasPrefix("\(operatorFamily).")
    }
}

extension Endpoint {
    /// The account that an endpoint belongs to which asks for these types.
    ///
    /// `account` is the one that was named; nil for none. Errors: `InvalidInput` when types of the
    /// cluster stand beside others or an account is named with them.
    package static func account(
        asking types: [String],
        named account: AccountID?
    ) throws(InvalidInput) -> AccountID? {
        guard types.contains(where: EventSubject.isOfOperators) else { return account }
        guard account == nil else {
            throw InvalidInput(
                field: "account",
                message: "is of no account's where types has operator.…: leave it out"
            )
        }
        return .operators
    }

    /// Refuses types of the cluster beside others, and an endpoint that would change sides.
    func checkSide() throws(InvalidInput) {
        let named = scope.types.count(where: EventSubject.isOfOperators)
        if account == .operators, named == 0 || named < scope.types.count {
            throw InvalidInput(
                field: "types",
                message: "must be operator.* or some of these alone: it tells of the cluster, and "
                    + "payments are told to another endpoint"
            )
        }
        if account != .operators, named > 0 {
            throw InvalidInput(
                field: "types",
                message: "names operator.…, which are told to an endpoint of their own: create one"
            )
        }
    }
}
