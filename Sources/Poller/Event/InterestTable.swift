import PollerIdentity
import PollerQueue

/// Who hears what, so that one event costs as much as hear it, however many listen.
///
/// | an event finds | by | before it has been read |
/// |---|---|---|
/// | who hears one watch, or sources of some accounts | its item | at once |
/// | who hears an account | its account | by the lane, where the entry says it; else all may be meant |
/// | who hears sources of any account | its source | all may be meant |
/// | who hears everything | nothing | at once |
///
/// A value: who shares one puts it behind a lock.
package struct InterestTable<Listener: Hashable & Sendable>: Sendable {
    /// With the routes, which are worth something to work out.
    private var interests: [Listener: (interest: Interest, routes: [Interest.Route])] = [:]
    private var listeners: [Interest.Route: Set<Listener>] = [:]
    /// Accounts and sources that somebody is found by.
    private var accounts = 0
    private var sources = 0

    /// A table of nobody.
    package init() {}

    /// A table of one.
    package init(_ listener: Listener, hearing interest: Interest) {
        insert(listener, hearing: interest)
    }

    /// Whether nobody listens.
    package var isEmpty: Bool { interests.isEmpty }

    /// What is kept to find those who listen: nothing once all have left.
    package var routeCount: Int { listeners.count }

    /// Lets somebody hear this from now on, and nothing else.
    package mutating func insert(_ listener: Listener, hearing interest: Interest) {
        insert(listener, hearing: interest, on: interest.routes)
    }

    /// The same with ``Interest/routes``, worked out before a lock was taken.
    package mutating func insert(
        _ listener: Listener,
        hearing interest: Interest,
        on routes: [Interest.Route]
    ) {
        remove(listener)
        interests[listener] = (interest, routes)
        for route in routes {
            if listeners[route, default: []].isEmpty { count(route, 1) }
            listeners[route, default: []].insert(listener)
        }
    }

    /// Lets somebody hear nothing more.
    package mutating func remove(_ listener: Listener) {
        guard let (_, routes) = interests.removeValue(forKey: listener) else { return }
        for route in routes {
            listeners[route]?.remove(listener)
            guard listeners[route]?.isEmpty ?? false else { continue }
            listeners[route] = nil
            count(route, -1)
        }
    }

    /// Whether the event of an entry may be heard by anybody: only then it has to be read.
    package func mayHear(_ reference: OutboxReference) -> Bool {
        if listeners[.item(reference.item)] != nil || sources > 0 || listeners[.all] != nil {
            return true
        }
        guard accounts > 0 else { return false }
        guard let account = reference.lane?.accountAndKind?.account else { return true }
        return listeners[.account(account)] != nil
    }

    /// Those who hear an event, each once, in no order.
    package func listeners(of event: FeedEvent) -> [Listener] {
        let key = event.event.key
        var found: [Listener] = []
        for route in [.item(event.item), .source(key.source), .account(key.account), .all]
            as [Interest.Route]
        {
            for listener in listeners[route] ?? []
            where interests[listener]?.interest.hears(event.event) ?? false {
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
