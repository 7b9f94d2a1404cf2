package import PollerIdentity
package import PollerQueue

/// What somebody who listens hears, as a value.
///
/// A closure could only be asked about each event in turn; a value says by what an event is found, so that
/// one costs as much as hear it (``InterestTable``). Somebody who names sources hears of those kinds that
/// this release knows: of one source among several nobody has said of what kind it is.
package struct Interest: Hashable, Sendable {
    /// Whose events.
    package enum Scope: Hashable, Sendable {
        case watch(WatchKey)
        case sources(Set<SourceID>, of: AccountSet)
        case accounts(AccountSet)
    }

    /// All that is told of payments and orders.
    package static let everything = Interest(in: .accounts(.all))

    package let scope: Scope
    /// Exact types, or prefixes that end in `.*`; nil for all, without what tells of the cluster.
    package let types: [String]?
    /// Only events of a watch behind this one.
    package let afterSeq: Int

    /// Everything in a scope, or of these types, or behind a seq.
    package init(in scope: Scope, types: [String]? = nil, afterSeq: Int = 0) {
        self.scope = scope
        self.types = types
        self.afterSeq = afterSeq
    }

    /// Whether an event is heard.
    package func hears(_ event: Event) -> Bool {
        let isInScope =
            switch scope {
            case .watch(let key): key == event.key
            case .sources(let sources, let accounts):
                sources.contains(event.key.source) && accounts.contains(event.key.account)
                    && Self.kinds.contains(event.key.kind)
            case .accounts(let accounts): accounts.contains(event.key.account)
            }
        return isInScope && event.seq > afterSeq && event.isAsked(for: types)
            && EventSubject.matches(event.type, types)
    }
}

/// How events find those who hear them.
extension Interest {
    /// Kinds that a source named among several may have.
    private static let kinds = Set(SourceKind.allCases + [.order, .incident])
    /// Items one interest is found by: a hundred sources of one account, each of every kind.
    ///
    /// With more it is found by its sources.
    private static let itemsMax = 100 * kinds.count

    /// What an event is found by.
    package enum Route: Hashable, Sendable {
        case item(ItemID)
        case source(SourceID)
        case account(AccountID)
        case all
    }

    /// What its events are found by; each by one of them.
    package var routes: [Route] {
        switch scope {
        case .watch(let key): return [.item(key.id)]
        case .accounts(.all): return [.all]
        case .accounts(.some(let accounts)): return accounts.map { .account($0) }
        case .sources(let sources, .all): return sources.map { .source($0) }
        case .sources(let sources, .some(let accounts)):
            guard sources.count * accounts.count * Self.kinds.count <= Self.itemsMax else {
                return sources.map { .source($0) }
            }
            return sources.flatMap { source in
                accounts.flatMap { account in
                    Self.kinds.map { kind in
                        .item(WatchKey(account: account, source: source, kind: kind).id)
                    }
                }
            }
        }
    }
}

extension EventSubject {
    /// Whether a type is one of these, exact or prefixes that end in `*`; nil for any.
    package static func matches(_ type: String, _ patterns: [String]?) -> Bool {
        guard let patterns else { return true }
        return patterns.contains { pattern in
            pattern.hasSuffix("*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
        }
    }
}
