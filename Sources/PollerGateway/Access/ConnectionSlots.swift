import PollerNet

/// Counts who is connected, so that nobody takes the places of all.
struct ConnectionSlots: Sendable {
    let limits: GatewayLimits
    private let places = Places()

    init(_ limits: GatewayLimits) {
        self.limits = limits
    }

    /// A place for one more connection of somebody; nil when they have too many.
    func place(of principal: Principal) -> Places.Place? {
        let most =
            switch principal.credential {
            case .none, .key: limits.connectionsPerKeyMax
            case .token: limits.connectionsPerTokenMax
            case .clientSecret: limits.connectionsPerSecretMax
            }
        return places.take("\(principal.credential.rawValue) \(principal.name)", most: most)
    }
}
