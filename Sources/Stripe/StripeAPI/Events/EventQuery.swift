/// Which events to list.
///
/// *Source*: <https://docs.stripe.com/api/events/list>.
public struct EventQuery: Hashable, Sendable {
    /// The types, at most 20; all when empty.
    public var types: [String]
    /// When they were made.
    public var created: TimeBounds
    /// Whether all endpoints have acknowledged them.
    ///
    /// False: those that some endpoint has not. True: those that all have. Nil: either.
    public var deliverySuccess: Bool?

    /// Creates a query; without parameters it finds all events.
    public init(
        types: [String] = [],
        created: TimeBounds = TimeBounds(),
        deliverySuccess: Bool? = nil
    ) {
        self.types = types
        self.created = created
        self.deliverySuccess = deliverySuccess
    }

    var parameters: [(String, String)] {
        var parameters = types.map { ("types[]", $0) } + created.parameters
        if let deliverySuccess {
            parameters.append(("delivery_success", deliverySuccess ? "true" : "false"))
        }
        return parameters
    }
}
