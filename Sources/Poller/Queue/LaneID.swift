/// The items that share one limit: for watches (account, upstream endpoint), for deliveries the
/// customer's endpoint.
///
/// Rate, concurrency, fairness and partition hang on it.
package struct LaneID: Hashable, Sendable, CustomStringConvertible {
    /// `default/sources`, `ep_…`; at most 128 bytes of ids and one slash.
    package let description: String

    /// The lane of an account's sources of one kind.
    package init(account: AccountID, kind: SourceKind) {
        description = "\(account)/\(kind.endpoint)"
    }

    /// The lane of all deliveries to one endpoint.
    package init(endpoint: EndpointID) {
        description = endpoint.description
    }

    /// Wraps a lane read back from a store.
    package init(unchecked text: String) {
        description = text
    }

    /// What a lane of watches is made of; nil for a lane of deliveries.
    package var accountAndKind: (account: AccountID, kind: SourceKind)? {
        guard let slash = description.lastIndex(of: "/"),
            let kind = SourceKind(endpoint: description[description.index(after: slash)...])
        else { return nil }
        return (AccountID(unchecked: String(description[..<slash])), kind)
    }
}
