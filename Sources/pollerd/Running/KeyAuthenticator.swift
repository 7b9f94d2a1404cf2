import Poller
import PollerAPI
import PollerChannels

/// Lets into the gateway who may use the API: the holders of its keys.
struct KeyAuthenticator: Authenticator {
    let keys: APIKeys

    /// Keys exist, so nobody comes in without one.
    var anonymous: Principal? { nil }

    func principal(token: String) async -> Principal? {
        keys.verify(token) ? Principal(name: "api key", account: nil) : nil
    }
}
