package import PollerIdentity
package import PollerOperations

extension SpanFacts {
    /// Adds the attributes that identify a watch.
    package mutating func add(_ key: WatchKey) {
        add("poller.account", key.account.description)
        add("poller.source", key.source.description)
        add("poller.kind", key.kind.rawValue)
    }

    /// Adds the attributes that identify an event.
    package mutating func add(_ event: Event) {
        add("poller.event.id", event.id.description)
        add("poller.event.type", event.type)
        add("poller.seq", event.seq)
    }
}
