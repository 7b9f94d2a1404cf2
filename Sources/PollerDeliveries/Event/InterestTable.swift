import PollerIdentity
import PollerQueue
import PollerWatches

/// An index of subscriptions, so that an event costs only as much as it has subscribers, for any number of listeners.
///
/// | an event finds subscribers of | by | before it has been read |
/// |---|---|---|
/// | one watch, or sources of some accounts | its item | at once |
/// | an account | its account | by the lane, if the entry has it; else any event may match |
/// | sources of any account | its source | any event may match |
/// | everything | nothing | at once |
///
/// It is a value: an owner that shares it puts it behind a lock.
package struct InterestTable<Listener: Hashable & Sendable>: Sendable {
    /// The subscriptions with their routes, which are costly to compute.
    private var interests: [Listener: (interest: Interest, routes: [Interest.Route])] = [:]
    private var listeners: [Interest.Route: Set<Listener>] = [:]
    /// The number of account routes and source routes.
    private var accounts = 0
    private var sources = 0

    /// Creates an empty table.
    package init() {}

    /// Creates a table with one subscription.
    package init(_ listener: Listener, matching interest: Interest) {
        insert(listener, matching: interest)
    }

    /// Whether there are no listeners.
    package var isEmpty: Bool { interests.isEmpty }

    /// The number of routes, which is zero once all listeners are removed.
    package var routeCount: Int { listeners.count }

    /// Sets the subscription of a listener, which replaces its previous one.
    package mutating func insert(_ listener: Listener, matching interest: Interest) {
        insert(listener, matching: interest, on: interest.routes)
    }

    /// Sets the subscription of a listener, with ``Interest/routes`` that were computed before a lock was taken.
    package mutating func insert(
        _ listener: Listener,
        matching interest: Interest,
        on routes: [Interest.Route]
    ) {
        remove(listener)
        interests[listener] = (interest, routes)
        for route in routes {
            if listeners[route, default: []].isEmpty { count(route, 1) }
            listeners[route, default: []].insert(listener)
        }
    }

    package mutating func remove(_ listener: Listener) {
        guard let (_, routes) = interests.removeValue(forKey: listener) else { return }
        for route in routes {
            listeners[route]?.remove(listener)
            guard listeners[route]?.isEmpty ?? false else { continue }
            listeners[route] = nil
            count(route, -1)
        }
    }

    /// Whether the event of an entry may have subscribers; only then it has to be read.
    package func mayMatch(_ reference: OutboxReference) -> Bool {
        if listeners[.item(reference.item)] != nil || sources > 0 || listeners[.all] != nil {
            return true
        }
        guard accounts > 0 else { return false }
        guard let account = reference.lane?.accountAndKind?.account else { return true }
        return listeners[.account(account)] != nil
    }

    /// Returns the subscribers of an event, each once, in no order.
    package func listeners(of event: FeedEvent) -> [Listener] {
        let key = event.event.key
        var found: [Listener] = []
        for route in [.item(event.item), .source(key.source), .account(key.account), .all]
            as [Interest.Route]
        {
            for listener in listeners[route] ?? []
            where interests[listener]?.interest.matches(event.event) ?? false {
                found.append(listener)
            }
        }
        return found
    }

    private mutating func count(_ route: Interest.Route, _ change: Int) {
        switch route {
        case .account: accounts += change
        case .source: sources += change
        case .item, .all: break
        }
    }
}
