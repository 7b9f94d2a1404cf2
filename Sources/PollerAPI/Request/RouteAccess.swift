import PollerOperations

/// The access that a route requires.
///
/// Every route declares it.
enum RouteAccess: Hashable, Sendable {
    /// An API key with this scope; on a server without keys, any client on this machine.
    case key(Scope)
    /// Any client that reaches the server; on a server without keys, only this machine.
    ///
    /// The content of such a route is public, or protected by a customer's secret in the request.
    case anyClient
    /// A request with a valid signature, with or without API keys: Stripe has no API key and uses the public host name.
    case signed

    /// The required scope; `nil` if no key is required.
    var scope: Scope? {
        guard case .key(let scope) = self else { return nil }
        return scope
    }

    /// The status codes with which its check can reject a request.
    var problems: [Int] {
        switch self {
        case .key: [400, 401, 403, 429, 500]
        case .anyClient: [403, 429]
        case .signed: []
        }
    }
}
