import PollerIdentity

/// The items that share one limit: for watches by account and upstream endpoint, for deliveries by customer endpoint.
///
/// It determines the rate, concurrency, fairness and partition of its items. The claim script applies them
/// (`Queue/Scripts/lib_claim.lua` in `PollerRedis`).
package struct LaneID: Hashable, Sendable, CustomStringConvertible {
    /// The name: `default/sources`, `ep_…`; at most 128 bytes of IDs and one slash.
    package let description: String

    package init(account: AccountID, kind: SourceKind) {
        description = "\(account)/\(kind.endpoint)"
    }

    /// Creates the lane of all deliveries to one endpoint.
    package init(endpoint: EndpointID) {
        description = endpoint.description
    }

    /// Wraps a lane from a store.
    package init(unchecked text: String) {
        description = text
    }

    /// The account and kind of a lane of watches; `nil` for a lane of deliveries.
    package var accountAndKind: (account: AccountID, kind: SourceKind)? {
        guard let slash = description.utf8.lastIndex(of: UInt8(ascii: "/")),
            let kind = SourceKind(endpoint: description[description.utf8.index(after: slash)...])
        else { return nil }
        return (AccountID(unchecked: String(description[..<slash])), kind)
    }
}
