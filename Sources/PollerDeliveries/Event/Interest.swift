package import PollerIdentity
import PollerOperations
package import PollerQueue
package import PollerWatches

/// A subscription of a listener, as a value.
///
/// A closure would have to be called for each event. A value can be indexed, so that an event costs only as much as it
/// has subscribers (``InterestTable``). A subscription to several sources covers the kinds that this release knows,
/// because it does not name the kind of each source.
package struct Interest: Hashable, Sendable {
    /// The selected watches or accounts.
    package enum Scope: Hashable, Sendable {
        case watch(WatchKey)
        case sources(Set<SourceID>, of: AccountSet)
        case accounts(AccountSet)
    }

    /// A subscription to all events of payments and orders.
    package static let everything = Interest(in: .accounts(.all))

    package let scope: Scope
    /// Exact types, or prefixes that end in `.*`; `nil` for all, except events about the cluster.
    package let types: [String]?
    /// The `seq` after which events of the watch are selected.
    package let afterSeq: Int

    /// Creates a subscription to a scope, optionally with types or after a `seq`.
    package init(in scope: Scope, types: [String]? = nil, afterSeq: Int = 0) {
        self.scope = scope
        self.types = types
        self.afterSeq = afterSeq
    }

    /// Whether an event is selected.
    package func matches(_ event: Event) -> Bool {
        let isInScope =
            switch scope {
            case .watch(let key): key == event.key
            case .sources(let sources, let accounts):
                sources.contains(event.key.source) && accounts.contains(event.key.account)
                    && Self.kinds.contains(event.key.kind)
            case .accounts(let accounts): accounts.contains(event.key.account)
            }
        return isInScope && event.seq > afterSeq && event.isIncluded(for: types)
            && EventSubject.matches(event.type, types)
    }
}

/// Lookup of subscriptions by event.
extension Interest {
    /// The kinds of a source that is named among several.
    private static let kinds = Set(SourceKind.allCases + [.order, .incident])
    /// The maximum number of item routes of one subscription: a hundred sources of one account, each of every kind.
    ///
    /// A larger one is indexed by its sources.
    private static let itemsMax = 100 * kinds.count

    /// A key of the index.
    package enum Route: Hashable, Sendable {
        case item(ItemID)
        case source(SourceID)
        case account(AccountID)
        case all
    }

    /// The index keys of the subscription.
    ///
    /// Each of its events is found by exactly one of them.
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
    /// Whether a type matches one of the patterns, exact or prefixes that end in `*`; `nil` matches any.
    package static func matches(_ type: String, _ patterns: [String]?) -> Bool {
        guard let patterns else { return true }
        return patterns.contains { pattern in
            pattern.hasSuffix("*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
        }
    }
}
