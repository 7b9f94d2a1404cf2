/// What the state asks the outside to do.
enum SandboxAction: Sendable {
    /// Posts an event to an endpoint, signed, up to three times.
    case deliver(event: String, url: String, secret: String, body: [UInt8])

    /// Comes back with a transition after the automatic delay.
    case settleLater(Transition)

    /// What settles by itself.
    enum Transition: Sendable {
        case source(String, status: String)
        case charge(String, succeeds: Bool)
        case intent(String)
    }
}
