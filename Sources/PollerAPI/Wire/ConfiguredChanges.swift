package import JSONText
package import PollerDeliveries
package import PollerOperations
package import PollerQueue
import PollerWire

/// Changes by the configuration file, in the same form as those of the routes.
package enum ConfiguredChanges {
    /// Returns the difference of two states of an endpoint.
    ///
    /// Secrets and header values are shown only as changed.
    package static func endpoint(
        from old: PollerDeliveries.Endpoint?,
        to new: PollerDeliveries.Endpoint?
    ) -> (before: RawJSON?, after: RawJSON?) {
        RequestChanges.difference(
            from: old.map { PollerWire.Endpoint($0) },
            to: new.map { PollerWire.Endpoint($0) },
            hiddenDiffer: hidden(old, new)
        )
    }

    /// Returns the change of a lane's limit by the file.
    ///
    /// `standard` is the limit without a custom one.
    package static func limit(
        of lane: LaneID,
        from old: PollerQueue.LaneLimit?,
        to new: PollerQueue.LaneLimit,
        standard: PollerQueue.LaneLimit
    ) -> AuditedChange {
        let (before, after) = RequestChanges.difference(
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

    /// Returns the changed fields of an endpoint whose values are not shown.
    static func hidden(
        _ old: PollerDeliveries.Endpoint?,
        _ new: PollerDeliveries.Endpoint?
    ) -> [String] {
        var names = old?.headers != new?.headers ? ["headers"] : []
        // A new endpoint always gets a secret, so it is not a change.
        if let old, let new, old.secrets.map(\.secret) != new.secrets.map(\.secret) {
            names.append("secret")
        }
        return names
    }
}
