package import JSONText
package import Poller
package import PollerQueue
import PollerWire

/// What the configuration file changes, told as the routes tell the same.
package enum ConfiguredChanges {
    /// What differs between two states of an endpoint; of secrets and values of headers only that they do.
    package static func endpoint(
        from old: Poller.Endpoint?,
        to new: Poller.Endpoint?
    ) -> (before: RawJSON?, after: RawJSON?) {
        ChangeNotes.difference(
            from: old.map { PollerWire.Endpoint($0) },
            to: new.map { PollerWire.Endpoint($0) },
            hiddenDiffer: hidden(old, new)
        )
    }

    /// A lane's limit that the file has replaced; `standard` holds where there is none of its own.
    package static func limit(
        of lane: LaneID,
        from old: PollerQueue.LaneLimit?,
        to new: PollerQueue.LaneLimit,
        standard: PollerQueue.LaneLimit
    ) -> AuditedChange {
        let (before, after) = ChangeNotes.difference(
            from: Lane(limit: old, standard: standard),
            to: Lane(limit: new, standard: standard),
            only: ["limit"]
        )
        return AuditedChange(
            by: .configuration,
            action: "limitLane",
            target: AuditTarget(.lane, lane.description),
            account: lane.accountAndKind?.0,
            before: before,
            after: after
        )
    }

    /// The fields of an endpoint that have changed and whose values nobody is told.
    static func hidden(_ old: Poller.Endpoint?, _ new: Poller.Endpoint?) -> [String] {
        var names = old?.headers != new?.headers ? ["headers"] : []
        // A new one has a secret, whoever makes it.
        if let old, let new, old.secrets.map(\.secret) != new.secrets.map(\.secret) {
            names.append("secret")
        }
        return names
    }
}
