import Poller
import PollerAPI
import PollerGateway

/// Lets into the gateway who may use the API: the holders of its keys.
struct KeyAuthenticator: Authenticator {
    let keys: APIKeys

    /// Keys exist, so nobody comes in without one.
    var anonymous: Principal? { nil }

    func principal(token: String) async -> Principal? {
        // Each by its own name, because each has its own places.
        keys.name(of: token).map { Principal(name: $0, account: nil) }
    }
}
