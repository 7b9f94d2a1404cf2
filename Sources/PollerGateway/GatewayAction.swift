/// What a ``GatewaySession`` wants done.
enum GatewayAction: Hashable, Sendable {
    /// Sends a text message.
    case send(String)
    /// Finds out whose credentials these are and reports it with `authenticated`.
    case authenticate(GatewayDoor.Credentials)
    /// Starts sending what a subscription asks for.
    case subscribe(Subscription)
    /// Stops a subscription.
    case unsubscribe(String)
    /// Sends a ping frame.
    case ping
    /// Says goodbye, sends the close frame and sends nothing more.
    case close(CloseCode, reason: String)
    /// Cuts the connection.
    case cut
}
